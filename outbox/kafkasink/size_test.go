package kafkasink_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// limit sets the topic's max.message.bytes.
func limit(t *testing.T, addrs []string, topic string, bytes int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	require.NoError(t, err)
	defer client.Close()
	value := strconv.Itoa(bytes)
	admin := kadm.NewClient(client)
	done, err := admin.AlterTopicConfigs(t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}, topic)
	require.NoError(t, err)
	for _, r := range done {
		require.NoError(t, r.Err)
	}
	// A cluster hears of it a moment after it was accepted.
	require.Eventually(t, func() bool {
		configs, err := admin.DescribeTopicConfigs(t.Context(), topic)
		if err != nil || len(configs) != 1 {
			return false
		}
		return slices.ContainsFunc(configs[0].Configs, func(c kadm.Config) bool {
			return c.Key == "max.message.bytes" && c.Value != nil && *c.Value == value
		})
	}, patience, 5*time.Millisecond)
}

// What we let pass the broker takes: sizes around a topic's limit, each alone.
func TestSize_NeverLaxerThanTheBroker(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		const most = 16_500 // past the length where varints grow
		topic := env.Topic(t, "edge", 1)
		limit(t, env.Brokers, topic, most)
		s := newSink(t, env.Brokers, kafkasink.Config{})
		accepted, refused := 0, 0
		for size := most - 200; size <= most; size++ {
			r := record(topic, "k", int64(size), size)
			r.CreatedAt = r.CreatedAt.Truncate(time.Second).Add(123_456_789) // a header that is as long for all
			result := s.Send(within(t, patience), []outbox.Record{r})[0]
			if result.Err == nil {
				require.Zero(t, refused, "%d bytes passed, fewer did not", size)
				accepted++
				continue
			}
			require.Equal(t, outbox.FailurePermanent, outbox.KindOf(result.Err))
			require.ErrorContains(t, result.Err, "alone has", "refused by us, not by the broker")
			refused++
		}
		require.Positive(t, accepted)
		require.Positive(t, refused)
		require.Len(t, read(t, env.Brokers, topic), accepted)
	})
}

//leat:level 0
func TestBatchSize_IsTheClientsOwn(t *testing.T) {
	t.Parallel()
	env := testenv.Fake(t)
	topic := env.Topic(t, "sizes", 1)
	for _, size := range []int{0, 1, 63, 64, 8191, 8192, 100_000} {
		r := &kgo.Record{
			Topic: topic, Key: []byte("key"), Value: []byte(strings.Repeat("v", size)),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte(strings.Repeat("x", size))}},
		}
		of := max(512, kafkasink.BatchSize(r))
		client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.ProducerBatchMaxBytes(int32(of)))
		require.NoError(t, err)
		require.NoError(t, client.ProduceSync(within(t, patience), r).FirstErr(), "of %d", of)
		client.Close()
	}
}

// A limit that was raised counts at once, and one that was lowered is found out
// when the broker rejects a batch.
func TestSize_FollowsTheTopicsLimit(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "moving", 1)
		limit(t, env.Brokers, topic, 2000)
		s := newSink(t, env.Brokers, kafkasink.Config{})
		big := []outbox.Record{record(topic, "a", 1, 10), record(topic, "b", 2, 3000)}
		require.Equal(t, map[outbox.FailureKind]int{-1: 1, outbox.FailurePermanent: 1}, kinds(s.Send(within(t, patience), big)))

		limit(t, env.Brokers, topic, 100_000)
		requireDelivered(t, s.Send(within(t, patience), big))

		limit(t, env.Brokers, topic, 2000)
		sent := records(topic, 60, 4, 500)
		results := s.Send(within(t, patience), sent)
		require.Equal(t, map[outbox.FailureKind]int{outbox.FailureUnknown: 1, outbox.FailureNotSent: 59}, kinds(results),
			"a batch of small records is not a record's fault")
		requireDelivered(t, s.Send(within(t, patience), sent))
	})
}

func TestSize_ConfiguredBoundWins(t *testing.T) {
	t.Parallel()
	env := testenv.Fake(t)
	topic := env.Topic(t, "bound", 1)
	s := newSink(t, env.Brokers, kafkasink.Config{MaxMessageBytes: 1000})
	results := s.Send(within(t, patience), []outbox.Record{record(topic, "a", 1, 1000), record(topic, "b", 2, 500)})
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[0].Err))
	require.NoError(t, results[1].Err)
}
