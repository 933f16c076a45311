package pgoutbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO5_BeyondMaxKeyLocks: a call with more keys than MaxKeyLocks locks the whole outbox, against single
// keys and against other such calls.
func TestO5_BeyondMaxKeyLocks(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{MaxKeyLocks: 3})
	four := append(append(keyed("a", "wide-a"), keyed("b", "wide-b")...), append(keyed("c", "wide-c"), keyed("d", "wide-d")...)...)
	wide := func(w *writer) <-chan error {
		done := make(chan error, 1)
		go func() { done <- ob.Enqueue(t.Context(), w.Tx, four...) }()
		return done
	}
	locksOf := func(w *writer) int {
		return query1[int](t, db, "SELECT count(*) FROM pg_locks WHERE pid = $1 AND locktype = 'advisory' AND granted", w.pid())
	}

	narrow := begin(t, ob, db).put("b", "narrow")
	w := begin(t, ob, db)
	done := wide(w)
	awaitBlocked(t, db, w.pid())
	put(t, ob, "", "unordered") // needs no lock
	narrow.commit()
	require.NoError(t, <-done)
	require.Equal(t, 1, locksOf(w))

	next, like := begin(t, ob, db), begin(t, ob, db)
	narrowDone, likeDone := next.goPut("b", "after"), wide(like)
	awaitBlocked(t, db, next.pid())
	awaitBlocked(t, db, like.pid())
	w.commit()
	for range 2 {
		select {
		case err := <-narrowDone:
			require.NoError(t, err)
			next.commit()
			narrowDone = nil
		case err := <-likeDone:
			require.NoError(t, err)
			like.rollback()
			likeDone = nil
		}
	}
	require.Equal(t, []string{"narrow", "unordered", "wide-a", "wide-b", "wide-c", "wide-d", "after"},
		payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// gateLock returns the lock that Enqueue takes for key in the template's outbox.
func gateLock(key string) int64 {
	return keyhash.Lock("outbox", `"leat"."outbox"`, key)
}

// rowByRow is the wrong statement: each row takes its own lock when its turn comes.
const rowByRow = `
	INSERT INTO leat.outbox (id, shard, topic, key, payload)
	SELECT gen_random_uuid(), 0, 'events', m.key, ''
	FROM unnest($1::text[], $2::bigint[]) AS m(key, lock), LATERAL (SELECT pg_advisory_xact_lock(m.lock)) l`

// TestO5_LocksInRowOrderDeadlock: two calls have the same keys in opposite orders. A gate between them
// makes both hold their first key when they ask for the other's.
func TestO5_LocksInRowOrderDeadlock(t *testing.T) {
	t.Parallel()
	keys := [2][]string{{"a", "gate", "b"}, {"b", "gate", "a"}}
	run := func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, start func(w *writer, keys []string) error) [2]error {
		t.Helper()
		gate := begin(t, ob, db)
		gate.exec("SELECT pg_advisory_xact_lock($1)", gateLock("gate"))
		var done [2]chan error
		for i := range keys {
			w := begin(t, ob, db).exec("SET LOCAL deadlock_timeout = '50ms'")
			done[i] = make(chan error, 1)
			go func() {
				err := start(w, keys[i])
				if err == nil {
					err = w.Commit(t.Context())
				} else {
					_ = w.Rollback(t.Context())
				}
				done[i] <- err
			}()
			awaitBlocked(t, db, w.pid())
		}
		gate.rollback()
		return [2]error{<-done[0], <-done[1]}
	}
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		ob, db := newOutbox(t, pgoutbox.Config{})
		errs := run(t, ob, db, func(w *writer, keys []string) error {
			_, err := w.Exec(t.Context(), rowByRow, keys, []int64{gateLock(keys[0]), gateLock(keys[1]), gateLock(keys[2])})
			return err
		})
		var deadlock *pgconn.PgError
		if errs[0] != nil {
			require.ErrorAs(t, errs[0], &deadlock)
		} else {
			require.ErrorAs(t, errs[1], &deadlock, "negative control")
		}
		require.Equal(t, pgerr.DeadlockDetected, deadlock.Code)
	})
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		ob, db := newOutbox(t, pgoutbox.Config{})
		errs := run(t, ob, db, func(w *writer, keys []string) error {
			var msgs []outbox.Message
			for _, k := range keys {
				msgs = append(msgs, keyed(k, k)...)
			}
			return ob.Enqueue(t.Context(), w.Tx, msgs...)
		})
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.Equal(t, 6, stored(t, db))
	})
}

// TestO5_TwoCallsCanDeadlock shows why Enqueue should be called once per transaction: two calls can
// deadlock, as the documentation says.
func TestO5_TwoCallsCanDeadlock(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	x := begin(t, ob, db).exec("SET LOCAL deadlock_timeout = '50ms'").put("a", "1")
	y := begin(t, ob, db).exec("SET LOCAL deadlock_timeout = '50ms'").put("b", "1")
	dx := x.goPut("b", "2")
	awaitBlocked(t, db, x.pid())
	err, victim, survivor := <-y.goPut("a", "2"), y, x
	other := <-dx
	if err == nil {
		err, other, victim, survivor = other, err, x, y
	}
	var deadlock *pgconn.PgError
	require.ErrorAs(t, err, &deadlock)
	require.Equal(t, pgerr.DeadlockDetected, deadlock.Code)
	require.NoError(t, other)
	require.ErrorIs(t, victim.Commit(t.Context()), pgx.ErrTxCommitRollback)
	survivor.commit()
	require.Equal(t, 2, stored(t, db), "one of the two went through whole")
}
