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

// arriving returns the contenders with a look at the topic before and after each run. A
// run that brought fewer records than it has operations fails. One that brought more has
// sent some twice, as all contenders may, and is logged.
func arriving(b *testing.B, broker *testenv.KafkaEnv, topic string, contenders []compare.Contender) []compare.Contender {
	b.Helper()
	count := countTopic(b, broker, topic)
	for i, c := range contenders {
		contenders[i].Run = func(round int) (time.Duration, error) {
			before, err := count.records(b.Context())
			if err != nil {
				return 0, err
			}
			took, err := c.Run(round)
			if err != nil {
				return 0, err
			}
			after, err := count.records(b.Context())
			switch got := after - before; {
			case err != nil:
				return 0, err
			case got < int64(c.Ops):
				return 0, fmt.Errorf("%d records arrived, want %d", got, c.Ops)
			case got > int64(c.Ops):
				b.Logf("%s, round %d: %d records more than messages", c.Name, round, got-int64(c.Ops))
			}
			return took, nil
		}
	}
	return contenders
}
