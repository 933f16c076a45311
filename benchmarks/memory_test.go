package benchmarks

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkMemory measures what a relay needs for a backlog of 1 KB messages,
// beyond what its process needs when it is connected and has not begun.
func BenchmarkMemory(b *testing.B) {
	size := scale(b).memory
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	topic := broker.Topic(b, "memory", 8)
	insertBacklog(b, db.Pool, topic, size.transactions, 1024)

	var inUse, resident []float64
	b.ResetTimer()
	for range b.N * size.rounds {
		task := processOn(db, broker)
		task.Messages = size.transactions
		report := runProcess(b, task)
		inUse = append(inUse, mebibytes(report.PeakBytes-report.IdleBytes))
		resident = append(resident, mebibytes(report.PeakRSS-report.IdleRSS))
		forgetPositions(b, db.Pool)
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(compare.Median(inUse), "MiB-over-idle")
	b.ReportMetric(compare.Median(resident), "RSS-MiB-over-idle")
	results.Record(b, "", compare.UnitOps, float64(size.transactions))
	results.Record(b, "", "MiB-over-idle", inUse...)
	results.Record(b, "", "RSS-MiB-over-idle", resident...)
}

func mebibytes(n uint64) float64 {
	return float64(n) / (1 << 20)
}

// insertBacklog writes messages as Enqueue would have, much faster: in statements
// of 100,000 that make the payloads in the server.
func insertBacklog(b *testing.B, pool *pgxpool.Pool, topic string, messages, payload int) {
	b.Helper()
	const chunk = 100_000
	for at := 0; at < messages; at += chunk {
		_, err := pool.Exec(b.Context(), `
			WITH random AS MATERIALIZED (
				SELECT string_agg(sha512(i::text::bytea), '') AS bytes FROM generate_series(1, 1000) i)
			INSERT INTO leat.outbox (id, shard, topic, key, payload)
			SELECT gen_random_uuid(), i % 64, $1, 'key-' || i % 10000, substr(bytes, 1 + i % 40000, $4::int)
			FROM random, generate_series($2::int, $3::int) i`,
			topic, at, min(at+chunk, messages)-1, payload)
		require.NoError(b, err)
	}
	_, err := pool.Exec(b.Context(), "VACUUM ANALYZE leat.outbox")
	require.NoError(b, err)
}

// forgetPositions lets the next relay begin at the oldest message.
func forgetPositions(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	_, err := pool.Exec(b.Context(), "DELETE FROM leat.outbox_positions")
	require.NoError(b, err)
}
