package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// drawn returns the last number drawn from the sequence, 0 before the first.
func drawn(t *testing.T, db *testenv.Database) int64 {
	t.Helper()
	return query1[int64](t, db, "SELECT coalesce(pg_sequence_last_value('leat.outbox_seq_seq'), 0)")
}

// TestO5_LocksBeforeItDraws: every form of the INSERT (one row or several, with a custom or a generic
// plan) draws neither a number nor an xid while it waits for the lock of a key or of the whole outbox.
func TestO5_LocksBeforeItDraws(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"force_custom_plan", "force_generic_plan"} {
		for name, messages := range map[string][]string{"one": {"a"}, "several": {"a", "b"}} {
			t.Run(plan+"/"+name, func(t *testing.T) {
				t.Parallel()
				ob, db := newOutbox(t, pgoutbox.Config{})
				bulk, _ := pgoutbox.New(db.Pool, pgoutbox.Config{MaxKeyLocks: 1})
				holders := map[string]func(w *writer){
					"key": func(w *writer) { w.put("k", "held") },
					"outbox": func(w *writer) {
						require.NoError(t, bulk.Enqueue(t.Context(), w.Tx, append(keyed("x", "held"), keyed("y", "held")...)...))
					},
				}
				for what, hold := range holders {
					holder, waiter := begin(t, ob, db), begin(t, ob, db).exec("SET plan_cache_mode = "+plan)
					hold(holder)
					before := drawn(t, db)
					done := waiter.goPut("k", messages...)
					awaitBlocked(t, db, waiter.pid())
					require.Equal(t, before, drawn(t, db), what)
					require.True(t, query1[bool](t, db, "SELECT backend_xid IS NULL FROM pg_stat_activity WHERE pid = $1", waiter.pid()), what)
					holder.rollback()
					require.NoError(t, <-done)
					waiter.rollback()
				}
			})
		}
	}
}

// TestO5_LocksBeforeItDraws_Control: a lock that is taken in a column of the row, instead of in a
// condition, comes too late.
func TestO5_LocksBeforeItDraws_Control(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	holder, waiter := begin(t, ob, db).put("k", "held"), begin(t, ob, db)
	before := drawn(t, db)
	done := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(context.Background(), `INSERT INTO leat.outbox (id, shard, topic, key, payload)
			VALUES (gen_random_uuid(), 0, 'events', 'k' || pg_advisory_xact_lock($1), '')`, gateLock("k"))
		done <- err
	}()
	awaitBlocked(t, db, waiter.pid())
	require.Greater(t, drawn(t, db), before)
	holder.rollback()
	require.NoError(t, <-done)
	waiter.rollback()
}
