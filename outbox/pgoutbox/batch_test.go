package pgoutbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO1_BatchInItsOwnTransaction: a batch that is sent on a pool is a
// transaction of its own.
func TestO1_BatchInItsOwnTransaction(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "CREATE TABLE orders (id text PRIMARY KEY)")
	for range 2 { // the second one fails on its business statement
		var b pgx.Batch
		b.Queue("INSERT INTO orders VALUES ('order-1')")
		require.NoError(t, ob.QueueEnqueue(t.Context(), &b, keyed("order-1", "placed")...))
		_ = db.Pool.SendBatch(t.Context(), &b).Close() // the failure of the second
	}
	require.Equal(t, 1, query1[int](t, db, "SELECT count(*) FROM orders"))
	require.Equal(t, []string{"placed"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestO1_BatchInATransaction: the messages of a batch commit or roll back with the transaction the batch
// is sent in.
func TestO1_BatchInATransaction(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	for _, commit := range []bool{false, true} {
		w := begin(t, ob, db)
		var b pgx.Batch
		require.NoError(t, ob.QueueEnqueue(t.Context(), &b, keyed("k", "a", "b")...))
		require.NoError(t, ob.QueueEnqueue(t.Context(), &b, keyed("", "c")...))
		require.NoError(t, w.SendBatch(t.Context(), &b).Close())
		require.Empty(t, readAll(t, s, 10))
		if commit {
			w.commit()
		} else {
			w.rollback()
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, payloads(readAll(t, s, 10)))
}

// TestO1_BatchOfNothing: without messages, nothing is queued.
func TestO1_BatchOfNothing(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	var b pgx.Batch
	require.NoError(t, ob.QueueEnqueue(t.Context(), &b))
	require.Zero(t, b.Len())
}

// TestO1_BatchKnowsItsDatabase: the queued statements check which database they run in. Only the first
// call asks which database that should be.
func TestO1_BatchKnowsItsDatabase(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	other := strangers(t)["other"]
	var b pgx.Batch
	require.NoError(t, ob.QueueEnqueue(t.Context(), &b, keyed("k", "a")...))
	require.ErrorIs(t, other.Pool.SendBatch(t.Context(), &b).Close(), outbox.ErrWrongDatabase)
	require.Zero(t, stored(t, other))
}
