package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkDebeziumDrain measures how fast a backlog goes from Postgres to Kafka by
// leat's relay and by Debezium's outbox event router, on a server with
// wal_level=logical. Debezium's backlog is written while its connector is stopped and
// its replication slot stands still. The time of debezium is from the request to start
// the connector until the topic has all records, that of debezium-streaming from when
// the broker appended the first to when it appended the last: the start of a connector
// takes seconds, which a service pays once. It flatters Debezium by what it did before
// its first record. The time of leat is from making its relay and its sink to closing
// them. What has arrived is read, and must be all ids, when the clock has stopped.
func BenchmarkDebeziumDrain(b *testing.B) {
	size := scale(b).debezium
	s := besideDebezium(b, rival.BestDebezium())
	messages, err := load.Messages(load.Spec{Messages: size.messages, Bytes: 512, Keys: 10_000, Topic: s.topic})
	require.NoError(b, err)
	ob, err := pgoutbox.New(s.db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, s.db, ob, messages)
	_, err = s.db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)

	var whole []float64
	contenders := []compare.Contender{
		{Name: "leat", Ops: size.messages, Run: func(round int) (time.Duration, error) {
			return drainLeat(b.Context(), ob, s.broker.Brokers, fmt.Sprintf("%s-%d", b.Name(), round), size.messages)
		}},
		{Name: "debezium-streaming", Ops: size.messages, Run: func(int) (time.Duration, error) {
			took, err := s.drain(b, messages)
			whole = append(whole, float64(size.messages)/took.Whole.Seconds())
			return took.Streaming, err
		}},
	}
	for i := range warmUps() {
		for _, c := range contenders {
			_, err := c.Run(-1 - i)
			require.NoError(b, err, c.Name)
		}
	}
	whole = nil
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
	b.StopTimer()
	if len(whole) > 0 {
		results.Record(b, "debezium", compare.UnitOps, float64(size.messages))
		results.Record(b, "debezium", "msg/s", whole...)
		b.ReportMetric(compare.Median(whole), "debezium-msg/s")
	}
}

// drain writes messages, with ids of their own, and has Debezium carry them.
func (s *beside) drain(b *testing.B, messages []outbox.Message) (rival.Drained, error) {
	b.Helper()
	fresh, err := afresh(messages)
	if err != nil {
		return rival.Drained{}, err
	}
	if err := s.Fill(b.Context(), fresh); err != nil {
		return rival.Drained{}, err
	}
	return s.Drain(b.Context(), fresh)
}
