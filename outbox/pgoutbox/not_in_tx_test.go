package pgoutbox_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO1_NotInTransactionIsRefused: nothing is ever written outside a
// transaction.
func TestO1_NotInTransactionIsRefused(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx, msgs := t.Context(), keyed("k", "x")
	var typedNil *pgxpool.Tx
	for name, tx := range map[string]pgx.Tx{"nil": nil, "typed nil": typedNil} {
		require.ErrorIs(t, ob.Enqueue(ctx, tx, msgs...), outbox.ErrNotInTransaction, name)
		require.ErrorIs(t, ob.EnqueueContext(pgoutbox.ContextWithTx(ctx, tx), msgs...), outbox.ErrNotInTransaction, name)
	}
	require.ErrorIs(t, ob.EnqueueSQL(ctx, nil, msgs...), outbox.ErrNotInTransaction)
	require.ErrorIs(t, ob.EnqueueContext(pgoutbox.ContextWithSQLTx(ctx, nil), msgs...), outbox.ErrNotInTransaction)
	require.ErrorIs(t, ob.EnqueueContext(ctx, msgs...), outbox.ErrNotInTransaction)
	require.ErrorIs(t, ob.QueueEnqueue(ctx, nil, msgs...), outbox.ErrNotInTransaction)
	require.Zero(t, stored(t, db))
}

func TestO1_EndedTransactionIsRefused(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx, msgs := t.Context(), keyed("k", "x")
	for _, commit := range []bool{true, false} {
		for name, open := range entries() {
			if name == "QueueEnqueue" {
				continue // the caller runs it
			}
			e := open(t, ob, db)
			require.NoError(t, e.end(commit))
			require.ErrorIs(t, e.enqueue(ctx, msgs...), outbox.ErrNotInTransaction, name)
		}
	}
	require.Zero(t, stored(t, db))
}

// TestO1_EndedTransactionOnABusyConnection: the connection is in a transaction, but another one than the
// given.
func TestO1_EndedTransactionOnABusyConnection(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	conn := db.Connect(t)
	old, err := conn.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, old.Commit(t.Context()))
	current, err := conn.Begin(t.Context())
	require.NoError(t, err)
	nested, err := current.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, ob.Enqueue(t.Context(), nested, keyed("k", "in a savepoint")...))
	require.NoError(t, nested.Commit(t.Context()))
	for _, ended := range []pgx.Tx{old, nested} {
		require.ErrorIs(t, ob.Enqueue(t.Context(), ended, keyed("k", "x")...), outbox.ErrNotInTransaction)
	}
	require.NoError(t, current.Commit(t.Context()))
	require.Equal(t, 1, stored(t, db))
}

// foreignDriver is a database/sql driver that is not pgx's.
type foreignDriver struct{}

func (foreignDriver) Connect(context.Context) (driver.Conn, error) { return foreignConn{}, nil }
func (foreignDriver) Driver() driver.Driver                        { return nil }

type foreignConn struct{}

func (foreignConn) Prepare(string) (driver.Stmt, error) { return foreignConn{}, nil }
func (foreignConn) Close() error                        { return nil }
func (foreignConn) Begin() (driver.Tx, error)           { return foreignConn{}, nil }
func (foreignConn) Commit() error                       { return nil }
func (foreignConn) Rollback() error                     { return nil }
func (foreignConn) NumInput() int                       { return -1 }

var errExecuted = errors.New("executed")

func (foreignConn) Exec([]driver.Value) (driver.Result, error) { return nil, errExecuted }
func (foreignConn) Query([]driver.Value) (driver.Rows, error)  { return nil, errExecuted }

// TestO1_ForeignDriverIsRefused: a driver other than pgx's fails on the first parameter, before anything
// is executed.
func TestO1_ForeignDriverIsRefused(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	foreign := sql.OpenDB(foreignDriver{})
	defer foreign.Close()
	tx, err := foreign.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	err = ob.EnqueueSQL(t.Context(), tx, keyed("k", "x")...)
	require.ErrorContains(t, err, "[]int64")
	require.NotErrorIs(t, err, errExecuted)
	require.NoError(t, tx.Rollback())
}
