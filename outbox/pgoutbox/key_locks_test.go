package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// fewKeys returns an outbox whose transactions may lock ten keys.
func fewKeys(t *testing.T) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	return newOutbox(t, pgoutbox.Config{MaxKeyLocks: 10})
}

// until calls put with 0, 1, 2 and so on, up to most times. It returns how many calls succeeded before
// the transaction had locked too many keys.
func until(t *testing.T, most int, put func(i int) error) int {
	t.Helper()
	for i := range most {
		err := put(i)
		if errors.Is(err, pgoutbox.ErrTooManyKeys) {
			require.ErrorContains(t, err, "11, and Config.MaxKeyLocks = 10")
			return i
		}
		require.NoError(t, err)
	}
	return most
}

// TestO5_KeysOfATransactionAreBounded: MaxKeyLocks bounds a transaction over all its calls, and counts
// only locks that the transaction has taken itself. S7.
func TestO5_KeysOfATransactionAreBounded(t *testing.T) {
	t.Parallel()
	ob, db := fewKeys(t)
	w := begin(t, ob, db)
	one := func(tx pgx.Tx) func(int) error {
		return func(i int) error { return ob.Enqueue(t.Context(), tx, keyed(fmt.Sprint("key ", i), "x")...) }
	}
	require.Equal(t, 10, until(t, 100, one(w.Tx)))
	w.put("key 3", "again").put("", "without a key") // a refusal costs the transaction nothing
	require.Error(t, ob.Enqueue(t.Context(), w.Tx, keyed("another", "x")...))
	w.commit()
	require.Equal(t, 12, stored(t, db))

	conn := w.Conn()
	for i := range 30 { // keys of other transactions on the same connection do not count
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, one(tx)(i))
		require.NoError(t, tx.Commit(t.Context()))
	}
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	for range 200 { // nor do repeats
		require.Equal(t, 5, until(t, 5, one(tx)))
	}
	for i := range 30 { // nor what a savepoint has given back
		inner, err := tx.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, one(inner)(10+i))
		require.NoError(t, inner.Rollback(t.Context()))
	}
	require.Equal(t, 5, until(t, 100, func(i int) error {
		inner, err := tx.Begin(t.Context())
		if err == nil {
			err = one(inner)(100 + i)
		}
		if err == nil {
			err = inner.Commit(t.Context())
		}
		return err
	}), "but savepoints that were kept count")
	require.NoError(t, tx.Rollback(t.Context()))
}

// TestO5_KeysOfASQLTransactionAreBounded: MaxKeyLocks also bounds transactions of database/sql. S7.
func TestO5_KeysOfASQLTransactionAreBounded(t *testing.T) {
	t.Parallel()
	ob, db := fewKeys(t)
	ofPgx := stdlib.OpenDBFromPool(db.Pool)
	defer ofPgx.Close()
	for _, pool := range []*sql.DB{ofPgx, ofPgx, libpq(t, db)} {
		tx, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		other, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, 10, until(t, 100, func(i int) error {
			require.NoError(t, ob.EnqueueSQL(t.Context(), other, keyed("one", "x")...))
			return ob.EnqueueSQL(t.Context(), tx, keyed("key "+strconv.Itoa(i), "x")...)
		}))
		require.NoError(t, tx.Commit())
		require.NoError(t, other.Rollback())
		require.ErrorIs(t, tx.Rollback(), sql.ErrTxDone)
	}
	require.Equal(t, 30, stored(t, db))
}

// TestO5_KeysOfABatchAreBounded: MaxKeyLocks also bounds queued messages. S7.
func TestO5_KeysOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	ob, db := fewKeys(t)
	batch := &pgx.Batch{}
	batch.Queue("SELECT $1::bigint[]", []int64{1, 2, 3, 4, 5})
	queue := func(i int) error { return ob.QueueEnqueue(t.Context(), batch, keyed("key "+strconv.Itoa(i), "x")...) }
	for range 3 {
		require.Equal(t, 5, until(t, 5, queue))
	}
	require.Equal(t, 10, until(t, 100, queue))
	require.NoError(t, db.Pool.SendBatch(t.Context(), batch).Close())
	require.Equal(t, 25, stored(t, db))
}

// TestO5_OneTransactionLeavesLocksToOthers: thousands of calls in one transaction fail with an error of
// leat's own, not with "out of shared memory" for the whole cluster. S7.
//
//leat:level 4
func TestO5_OneTransactionLeavesLocksToOthers(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "max_locks_per_transaction": "10", "max_connections": "30",
	}})
	db := server.Database(t, migrated())
	inTx := func(ob *pgoutbox.Outbox, err error, use func(context.Context, pgx.Tx) error) error {
		require.NoError(t, err)
		return ob.InTx(t.Context(), use)
	}
	bounded, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	calls := 0
	require.ErrorIs(t, inTx(bounded, err, func(ctx context.Context, tx pgx.Tx) (err error) {
		for ; calls < 10_000 && err == nil; calls++ {
			err = bounded.Enqueue(ctx, tx, keyed(fmt.Sprint("key ", calls), "x")...)
		}
		put(t, bounded, "of another", "x")
		return err
	}), pgoutbox.ErrTooManyKeys)
	require.Equal(t, 1001, calls)

	unbounded, err := pgoutbox.New(db.Pool, pgoutbox.Config{MaxKeyLocks: 10_000})
	require.ErrorContains(t, inTx(unbounded, err, func(ctx context.Context, tx pgx.Tx) error {
		var msgs []outbox.Message
		for i := range 10_000 {
			msgs = append(msgs, keyed(fmt.Sprint("key ", i), "x")...)
		}
		return unbounded.Enqueue(ctx, tx, msgs...)
	}), "out of shared memory", "negative control: this is what the bound is for")
}
