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
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkBacklog measures whether a record costs more where many wait: x-backlog
// is the cost of a record of a large backlog over that of one of a small one. Times
// are from the answer for the first page to that for the last, so that the price of
// starting a relay does not count. The small one is drained as often as it takes for
// as many messages: how much the broker has to store is the same on either side.
func BenchmarkBacklog(b *testing.B) {
	size := scale(b).backlog
	broker := testenv.RealKafka(b)
	contender := func(name string, messages, times int) compare.Contender {
		db := testenv.Postgres(b, migrated())
		if name == "small" {
			logSettings(b, db, broker)
		}
		topic := broker.Topic(b, name, 8)
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
		require.NoError(b, err)
		began := time.Now()
		insertBacklog(b, db.Pool, topic, messages, 512)
		b.Logf("%s: filled with %d messages in %s", name, messages, time.Since(began).Round(time.Millisecond))
		results.Record(b, name, "waiting", float64(messages))
		return compare.Contender{Name: name, Ops: messages * times, Run: func(round int) (sum time.Duration, err error) {
			for again := range times {
				group := fmt.Sprintf("%s-%d-%d", name, round, again)
				var answers stopwatch
				if _, err := drainLeat(b.Context(), ob, broker.Brokers, group, messages, &answers); err != nil {
					return 0, err
				}
				sum += answers.perRecord() * time.Duration(messages)
			}
			return sum, forget(b.Context(), broker.Brokers, topic)
		}}
	}
	small := contender("small", size.small, size.times)
	large := contender("backlog", size.large, 1)
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", small, large)
}

// forget deletes what the topic has: ten million messages a round fill a disk.
func forget(ctx context.Context, brokers []string, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	deleted, err := admin.DeleteRecords(ctx, ends.Offsets())
	if err != nil {
		return err
	}
	return deleted.Error()
}

// backlogSize is the messages of the two backlogs, how many times the small one is
// drained a round, and rounds.
type backlogSize struct {
	small, large, times, rounds int
}

// stopwatch notes the first and the last answer of a sink.
type stopwatch struct {
	first, last time.Time
	records     int // behind the first page
}

var _ relay.SendHook = (*stopwatch)(nil)

func (*stopwatch) Borrows() {}

// OnRelaySend notes an answer.
func (s *stopwatch) OnRelaySend(_ context.Context, e relay.SendEvent) {
	if s.last = time.Now(); s.first.IsZero() {
		s.first = s.last
		return
	}
	s.records += len(e.Records)
}

func (s *stopwatch) perRecord() time.Duration {
	return s.last.Sub(s.first) / time.Duration(max(s.records, 1))
}
