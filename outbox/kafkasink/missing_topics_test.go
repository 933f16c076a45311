package kafkasink_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO7_ThousandsOfMissingTopics: a call with records of two thousand topics that do not
// exist waits for none of them, says what to do about them, and delivers the record of
// another topic; afterwards the cluster is asked about all of them at once. S2, A3.
func TestO7_ThousandsOfMissingTopics(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		const n = 2000
		there := env.Topic(t, "there", 1)
		s := newSink(t, env.Brokers, kafkasink.Config{TopicTimeout: patience})
		requireDelivered(t, s.Send(within(t, patience), []outbox.Record{record(there, "a", 1, 10)}))

		var sent []outbox.Record
		var names []string
		for i := range n {
			names = append(names, env.Name(fmt.Sprintf("missing-%d", i)))
			sent = append(sent, record(names[i], "a", int64(i+2), 10))
		}
		sent = append(sent, record(there, "a", n+2, 10))
		began := time.Now()
		results := s.Send(within(t, patience), sent)
		require.Less(t, time.Since(began), patience/2, "it waits for none of so many")
		require.NoError(t, results[n].Err)
		for i := range n {
			require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[i].Err))
			require.ErrorIs(t, results[i].Err, outbox.ErrTopicUnavailable)
		}
		require.ErrorContains(t, results[7].Err, fmt.Sprintf("kafka has no topic %q: create it, or let the sink do so", names[7]))

		available, err := s.CheckTopics(within(t, patience), append(slices.Clone(names), there, "no topic's name"))
		require.NoError(t, err)
		require.Equal(t, []string{there}, available)
		made := env.Topic(t, "made", 1)
		for ctx := within(t, patience); !slices.Contains(available, made); {
			require.NoError(t, ctx.Err(), "the cluster has it")
			available, err = s.CheckTopics(ctx, []string{names[0], made})
			require.NoError(t, err)
		}
		requireDelivered(t, s.Send(within(t, patience), []outbox.Record{record(made, "a", 1, 10)}))
	})
}
