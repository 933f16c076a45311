package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO5_LockedDelayedRowIsNotPassedOver: a promoter that cannot lock the first message of a key leaves
// the later ones, and retries only after a pause.
func TestO5_LockedDelayedRowIsNotPassedOver(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	tx := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), tx.Tx, delayedBy("k", later(), "first", "second")...))
	tx.commit()
	makeDue(t, db)
	const first = "SELECT no FROM leat.outbox_delayed ORDER BY not_before, no LIMIT 1 FOR UPDATE"
	holder := begin(t, ob, db).exec(first)
	passing := begin(t, ob, db)
	rows, err := passing.Query(t.Context(), first+" SKIP LOCKED")
	require.NoError(t, err)
	passed, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	require.Len(t, passed, 1, "negative control: it takes the second message while the first stays")
	passing.rollback()

	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
	wait, err := pgoutbox.PromoteDue(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, 20*time.Millisecond, wait)
	require.Empty(t, readAll(t, s, 10))
	holder.rollback()
	_, err = pgoutbox.PromoteDue(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, payloads(readAll(t, s, 10)))
}

// TestO14_DelayedIsSeenByAnIdleRelay: while maintenance runs, an idle relay of its process looks for
// delayed messages whenever it polls the log, so that maintenance need not.
func TestO14_DelayedIsSeenByAnIdleRelay(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	idle := func() { require.Empty(t, readAll(t, s, 10)) }
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{DelayedPoll: time.Hour})
	hidden := func(hide bool) {
		from, to := "outbox_delayed", "hidden"
		if !hide {
			from, to = to, from
		}
		exec(t, db, "ALTER TABLE leat."+from+" RENAME TO "+to)
	}
	next := func() time.Duration {
		wait, err := pgoutbox.PromoteDue(t.Context(), m)
		require.NoError(t, err)
		return wait
	}
	hidden(true)
	idle() // nobody wants to know, so it need not have the right to look
	_, err := pgoutbox.PromoteDue(t.Context(), m)
	require.Error(t, err)
	hidden(false)
	done := pgoutbox.AwaitDelays(ob)
	idle()
	hidden(true)
	require.InDelta(t, time.Hour, next(), float64(time.Minute), "it goes by what the relay saw")
	hidden(false)

	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, delayedBy("k", time.Now().Add(30*time.Minute), "a")...)
	}))
	idle()
	require.InDelta(t, 30*time.Minute, next(), float64(time.Minute))
	makeDue(t, db)
	idle()
	require.Less(t, next(), time.Second, "it is due, and is moved")
	require.Equal(t, []string{"a"}, payloads(readAll(t, s, 10)))
	done()
}

// TestO5_DelayedByTwoPromoters: promoters that race over the same keys keep the order of each key, and
// finish.
func TestO5_DelayedByTwoPromoters(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox_delayed (not_before, id, shard, topic, key, payload)
		SELECT clock_timestamp(), gen_random_uuid(), 0, 'events', nullif(i % 8, 0)::text, i::text::bytea
		FROM generate_series(1, 3000) i`)
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for {
				moved, stayed, err := pgoutbox.Promote(t.Context(), ob)
				if err != nil || moved == 0 && !stayed {
					done <- err
					return
				}
			}
		}()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
	require.Equal(t, 3000, stored(t, db))
	require.Zero(t, query1[int](t, db, `SELECT count(*) FROM (
		SELECT convert_from(payload, 'utf8')::int AS n, lag(convert_from(payload, 'utf8')::int) OVER (PARTITION BY key ORDER BY seq) AS before
		FROM leat.outbox WHERE key IS NOT NULL) x WHERE n < before`))
}
