package pgoutbox_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestTrickle_SharesMemory: messages that arrive one at a time share one slab of memory. The test does not
// run in parallel with others, since it counts what the process allocates.
func TestTrickle_SharesMemory(t *testing.T) { //nolint:paralleltest // see above
	const windows, most = 100, 16 << 10 // most of it is what the messages cost to enqueue
	ob, _ := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	trickle := func() {
		put(t, ob, "k", "one")
		require.Len(t, readAll(t, s, 5000), 1)
	}
	trickle()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range windows {
		trickle()
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/windows, uint64(most), "bytes a message")
}

// TestTrickle_PlansOnce: the pages of a relay are planned once per connection, on fresh statistics, with
// few ranges and with many. The negative control is a connection that is not set up like a relay's.
func TestTrickle_PlansOnce(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox (id, shard, topic, payload) SELECT gen_random_uuid(), 0, 't', '' FROM generate_series(1, 1000); ANALYZE leat.outbox`)
	statements := loadStatements(t, "sql")
	pages := func(conn *pgx.Conn) (planned int) {
		for name, args := range map[string][]any{
			"page":                {"3:3:", "3:3:", 999, 5000},
			"page_early":          {"3:3:", "3:3:", 0, 999, 5000},
			"page_filtered":       {"3:3:", "3:3:", 999, 5000, 2, 1, nil},
			"page_early_filtered": {"3:3:", "3:3:", 0, 999, 5000, 2, 1, nil},
		} {
			for range 20 {
				_, err := conn.Exec(t.Context(), statements[name], args...)
				require.NoError(t, err, name)
			}
		}
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(custom_plans) FROM pg_prepared_statements WHERE statement LIKE '%FROM %outbox% o%'`).Scan(&planned))
		return planned
	}
	require.GreaterOrEqual(t, pages(db.Connect(t)), 20, "not set up: each page anew")
	for _, ranges := range []int{4, 100} {
		for n := 4; n < ranges; n++ {
			exec(t, db, fmt.Sprintf(`DROP TABLE IF EXISTS leat.outbox_tail;
				CREATE TABLE leat.outbox_x%[1]d PARTITION OF leat.outbox FOR VALUES FROM (%[1]d0000001) TO (%[1]d0000002)`, n))
		}
		conn := db.Connect(t)
		_, err := conn.Exec(t.Context(), statements["own"], int64(conn.PgConn().PID()))
		require.NoError(t, err)
		require.Zero(t, pages(conn), "%d ranges", ranges)
	}
}
