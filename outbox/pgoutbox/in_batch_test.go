package pgoutbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func ordersOf(t *testing.T, db *testenv.Database) int {
	t.Helper()
	return query1[int](t, db, "SELECT count(*) FROM orders")
}

// order returns a batch that inserts an order; a second insert of it fails. If asked is set, the batch has
// a callback that returns answer.
func order(asked bool, answer error) *pgx.Batch {
	b := &pgx.Batch{}
	q := b.Queue("INSERT INTO orders VALUES ('order-1')")
	if asked {
		q.Exec(func(pgconn.CommandTag) error { return answer })
	}
	return b
}

// TestO1_InBatch: order and message are stored together or not at all, with or without a callback before
// the commit, and the relay is woken.
func TestO1_InBatch(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"one trip": false, "callback": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			exec(t, db, "CREATE TABLE orders (id text PRIMARY KEY)")
			s := acquire(t, ob, "")
			b := order(asked, nil)
			require.NoError(t, ob.InBatch(t.Context(), b, keyed("order-1", "placed", "paid")...))
			require.Equal(t, []string{"placed", "paid"}, payloads(readAll(t, s, 10)))
			err := ob.InBatch(t.Context(), b, keyed("order-1", "again")...) // the batch can be sent again
			require.ErrorContains(t, err, "23505")
			require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
			require.ErrorIs(t, ob.InBatch(t.Context(), &pgx.Batch{}, outbox.Message{}), outbox.ErrInvalidMessage)
			require.NoError(t, ob.InBatch(t.Context(), &pgx.Batch{}))
			require.NoError(t, ob.InBatch(t.Context(), &pgx.Batch{}, keyed("", "alone")...))
			require.Equal(t, []string{"alone"}, payloads(readAll(t, s, 10)))
			require.Equal(t, 1, ordersOf(t, db))
			require.Equal(t, 3, stored(t, db))
		})
	}
}

// TestO1_InBatchCallback: an error of a callback rolls the transaction back.
func TestO1_InBatchCallback(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "CREATE TABLE orders (id text PRIMARY KEY)")
	refused := errors.New("refused")
	require.ErrorIs(t, ob.InBatch(t.Context(), order(true, refused), keyed("k", "x")...), refused)
	require.Zero(t, ordersOf(t, db))
	require.Zero(t, stored(t, db))
}

// TestO1_InBatchEnded: a batch that ends its transaction, or begins one, is an error, and the connection
// is not returned to the pool in that state.
func TestO1_InBatchEnded(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	for _, statement := range []string{"COMMIT", "ROLLBACK", "BEGIN"} {
		b := &pgx.Batch{}
		b.Queue(statement)
		require.ErrorIs(t, ob.InBatch(t.Context(), b, keyed("k", "x")...), outbox.ErrNotInTransaction, statement)
		if statement != "BEGIN" { // which is a warning in a transaction, and nothing else
			b.QueuedQueries[0].Exec(func(pgconn.CommandTag) error { return nil })
			require.ErrorIs(t, ob.InBatch(t.Context(), b, keyed("k", "x")...), outbox.ErrNotInTransaction, statement)
		}
		await(t, "the session has ended after "+statement, func() bool {
			return query1[int](t, db, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND state LIKE 'idle in transaction%'`) == 0
		})
	}
	require.ErrorIs(t, ob.InBatch(t.Context(), nil, keyed("k", "x")...), outbox.ErrNotInTransaction)
}

// TestO1_InBatchLosesItsAnswer: if the session ends before the answer has arrived, the outcome of the
// batch is unknown.
func TestO1_InBatchLosesItsAnswer(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	b := &pgx.Batch{}
	b.Queue("SELECT pg_terminate_backend(pg_backend_pid())")
	require.ErrorIs(t, ob.InBatch(t.Context(), b, keyed("k", "x")...), outbox.ErrCommitUnknown)
	require.Zero(t, stored(t, db))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := ob.InBatch(ctx, &pgx.Batch{}, keyed("k", "x")...)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, outbox.ErrCommitUnknown, "nothing was sent")
}

// TestO5_InBatchBeyondMaxKeyLocks: a call with more keys than MaxKeyLocks locks the outbox as a whole.
func TestO5_InBatchBeyondMaxKeyLocks(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{MaxKeyLocks: 2})
	var msgs []outbox.Message
	for _, key := range []string{"a", "b", "c"} {
		msgs = append(msgs, keyed(key, key)...)
	}
	for n := range 3 {
		require.NoError(t, ob.InBatch(t.Context(), &pgx.Batch{}, msgs[:n+1]...))
	}
	require.Equal(t, 6, stored(t, db))
}
