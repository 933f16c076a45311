package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/internal/testenv"
)

// topicCount counts the records that were ever written to a topic, deleted ones too.
type topicCount struct {
	admin *kadm.Client
	topic string
}

func countTopic(b *testing.B, broker *testenv.KafkaEnv, topic string) topicCount {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers...))
	require.NoError(b, err)
	b.Cleanup(client.Close)
	return topicCount{admin: kadm.NewClient(client), topic: topic}
}

func (c topicCount) records(ctx context.Context) (sum int64, err error) {
	ends, err := c.admin.ListEndOffsets(ctx, c.topic)
	if err != nil {
		return 0, fmt.Errorf("count the records of the topic: %w", err)
	}
	ends.Each(func(end kadm.ListedOffset) { sum += end.Offset })
	return sum, ends.Error()
}

// during makes sure that do brings exactly that many records to the topic.
func (c topicCount) during(ctx context.Context, want int, do func() error) error {
	before, err := c.records(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := c.records(ctx)
	if err == nil && after-before != int64(want) {
		err = fmt.Errorf("%d records have come to the topic, want %d", after-before, want)
	}
	return err
}

// onTopic makes sure that each run of c brings exactly c.Ops records to the topic,
// and deletes them: many rounds of large records fill a disk.
func onTopic(b *testing.B, broker *testenv.KafkaEnv, topic string, c compare.Contender) compare.Contender {
	b.Helper()
	count, run := countTopic(b, broker, topic), c.Run
	c.Run = func(round int) (took time.Duration, err error) {
		err = count.during(b.Context(), c.Ops, func() (err error) {
			took, err = run(round)
			return err
		})
		if err != nil {
			return 0, err
		}
		return took, forget(b.Context(), broker.Brokers, topic)
	}
	return c
}
