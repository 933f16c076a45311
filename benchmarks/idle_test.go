package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkIdle measures what a relay costs while nothing happens: cpu-% of one
// core, rows that it writes beside its lease (writes), and write-ahead log a second
// (WAL-B/s), which is that of the lease. The server is of the benchmark's own.
func BenchmarkIdle(b *testing.B) {
	size := scale(b).idle
	broker := testenv.RealKafka(b)
	db := testenv.PrivatePostgres(b, testenv.PostgresOptions{}).Database(b, migrated())
	logSettings(b, db, broker)
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		_, err := db.Pool.Exec(b.Context(), sql)
		require.NoError(b, err)
	}

	var cpu, writes, wal, renewals []float64
	b.ResetTimer()
	for range b.N * size.rounds {
		task := processOn(db, broker)
		task.Idle = size.lasting
		first := written(b, db)
		report := runProcess(b, task) // writes its first position the first time
		last := written(b, db)
		cpu = append(cpu, 100*report.CPU)
		writes = append(writes, float64(last.rows-first.rows))
		wal = append(wal, float64(last.wal-first.wal)/(size.lasting+3*time.Second).Seconds())
		renewals = append(renewals, float64(last.leases-first.leases))
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(compare.Median(cpu), "cpu-%")
	b.ReportMetric(writes[len(writes)-1], "writes")
	b.ReportMetric(compare.Median(renewals), "lease-writes")
	b.ReportMetric(compare.Median(wal), "WAL-B/s")
	results.Record(b, "", "cpu-%", cpu...)
	results.Record(b, "", "writes", writes...)
	results.Record(b, "", "lease-writes", renewals...)
	results.Record(b, "", "WAL-B/s", wal...)
}

// idleSize is how long a relay stays idle, and how often.
type idleSize struct {
	lasting time.Duration
	rounds  int
}

// writtenSoFar counts rows of the lease and of all other tables that were written,
// and bytes of log.
type writtenSoFar struct {
	leases, rows, wal int64
}

func written(b *testing.B, db *testenv.Database) (w writtenSoFar) {
	b.Helper()
	// A session hands in its counts when it ends, or within a second or so.
	require.NoError(b, db.Pool.QueryRow(b.Context(), `
		SELECT coalesce(sum(n) FILTER (WHERE relname = 'outbox_leases'), 0),
		       coalesce(sum(n) FILTER (WHERE relname <> 'outbox_leases'), 0),
		       pg_current_wal_insert_lsn() - '0/0'::pg_lsn
		FROM (SELECT relname, n_tup_ins + n_tup_upd + n_tup_del AS n FROM pg_stat_user_tables) t`).
		Scan(&w.leases, &w.rows, &w.wal))
	return w
}
