package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

var errBusiness = errors.New("business says no")

// TestO1_InTx commits when fn returns nil, and only then.
func TestO1_InTx(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx := t.Context()
	wakes := source(t, ob, "").Wakes(ctx)
	enqueue := func(ctx context.Context, _ pgx.Tx) error {
		return ob.EnqueueContext(ctx, keyed("k", "x")...)
	}

	err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(enqueue(ctx, tx), errBusiness)
	})
	require.ErrorIs(t, err, errBusiness)
	require.PanicsWithValue(t, "business panics", func() {
		_ = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			require.NoError(t, enqueue(ctx, tx))
			panic("business panics")
		})
	})
	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		require.NoError(t, enqueue(ctx, tx))
		return tx.Rollback(ctx)
	})
	require.ErrorIs(t, err, pgx.ErrTxClosed, "fn must not end the transaction")
	require.Zero(t, stored(t, db))
	require.Empty(t, wakes, "nothing was committed, so nobody is woken")

	require.NoError(t, ob.InTx(ctx, enqueue))
	require.Len(t, wakes, 1)
	require.Equal(t, 1, stored(t, db))
	require.Zero(t, db.Pool.Stat().AcquiredConns())
}

// TestO1_InTxOfACancelledContext: with a cancelled context, InTx commits nothing.
func TestO1_InTxOfACancelledContext(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		defer cancel()
		return ob.Enqueue(ctx, tx, keyed("k", "x")...)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, stored(t, db))
}

// TestO1_RefusedCommit: a COMMIT that the server answers with an error has committed nothing, and the
// error says so.
func TestO1_RefusedCommit(t *testing.T) {
	t.Parallel()
	for _, cfg := range []pgoutbox.Config{{}, {InsertAtOnce: true}} {
		ob, db := newOutbox(t, cfg)
		exec(t, db, "CREATE TABLE orders (id text PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
		place := func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO orders VALUES ('order-1')")
			return errors.Join(err, ob.Enqueue(ctx, tx, keyed("order-1", "placed")...))
		}
		require.NoError(t, ob.InTx(t.Context(), place))
		err := ob.InTx(t.Context(), place)
		require.ErrorContains(t, err, "23505", "the server says so at COMMIT")
		require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
		require.Equal(t, 1, stored(t, db))
	}
}

// TestWake: wakes are coalesced and never block; a subscription ends with its context.
func TestWake(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	ob.Wake() // nobody listens
	ctx, cancel := context.WithCancel(t.Context())
	a, b := source(t, ob, "a").Wakes(t.Context()), source(t, ob, "b").Wakes(ctx)
	for range 100 {
		ob.Wake()
	}
	require.Len(t, a, 1)
	require.Len(t, b, 1)
	<-a
	<-b
	cancel()
	await(t, "the subscription ends", func() bool {
		ob.Wake()
		<-a
		select {
		case <-b:
			return false
		default:
			return true
		}
	})
}

// TestHook: a hook sees every call, with what was stored or why nothing was.
func TestHook(t *testing.T) {
	t.Parallel()
	var hook hook
	ob, db := newOutbox(t, pgoutbox.Config{Hooks: []outbox.Hook{&hook}, Injector: outbox.InjectorFunc(inject)})
	w := begin(t, ob, db).put("k", "a", "b")
	require.Error(t, ob.Enqueue(t.Context(), w.Tx, outbox.Message{}))
	require.Error(t, ob.EnqueueSQL(t.Context(), nil, keyed("k", "x")...))
	w.commit()
	require.Len(t, hook.calls, 3)
	require.NoError(t, hook.calls[0].Err)
	require.Len(t, hook.calls[0].Messages, 2)
	require.NotEmpty(t, hook.calls[0].Messages[0].ID, "the id that was chosen")
	require.Positive(t, hook.calls[0].Took)
	require.ErrorIs(t, hook.calls[1].Err, outbox.ErrInvalidMessage)
	require.ErrorIs(t, hook.calls[2].Err, outbox.ErrNotInTransaction)
}

type hook struct{ calls []outbox.EnqueueEvent }

func (h *hook) OnOutboxEnqueue(_ context.Context, e outbox.EnqueueEvent) {
	h.calls = append(h.calls, e)
}

type traceKey struct{}

func inject(ctx context.Context, headers map[string]string) {
	if trace, ok := ctx.Value(traceKey{}).(string); ok {
		headers["traceparent"] = trace
	}
}

// TestO4_TraceTravels: the caller's trace is stored with the message. A trace that the caller has set in
// the headers is kept.
func TestO4_TraceTravels(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{Injector: outbox.InjectorFunc(inject)})
	ctx := context.WithValue(t.Context(), traceKey{}, "00-aa-bb-01")
	own := map[string]string{"traceparent": "00-cc-dd-00", "x": "y"}
	for name, open := range entries() {
		e := open(t, ob, db)
		require.NoError(t, e.enqueue(ctx, outbox.Message{Topic: "t", Headers: map[string]string{"x": "y"}}, outbox.Message{Topic: "t", Headers: own}), name)
		require.NoError(t, e.end(true), name)
	}
	got := readAll(t, acquire(t, ob, ""), 100)
	require.Len(t, got, 2*len(entries()))
	for i := range got {
		if i%2 == 0 {
			require.Equal(t, map[string]string{"traceparent": "00-aa-bb-01", "x": "y"}, got[i].Headers)
		} else {
			require.Equal(t, own, got[i].Headers)
		}
	}
}

// TestO1_OpenRows: if a function leaves rows open, the error says that, and not that the outcome of its
// transaction is unknown.
func TestO1_OpenRows(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	err := ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		if err := ob.Enqueue(ctx, tx, keyed("k", "x")...); err != nil {
			return err
		}
		_, err := tx.Query(ctx, "SELECT generate_series(1, 100000)") //nolint:sqlclosecheck // on purpose
		return err
	})
	require.ErrorContains(t, err, "rows of a query are still open")
	require.NotErrorIs(t, err, outbox.ErrCommitUnknown)
	require.Zero(t, stored(t, db))
}

// TestB11_InTxClosesASessionThatTakesNoWrites: a session to a demoted primary takes no writes. The pool
// would hand it out again, and every Enqueue would fail.
func TestB11_InTxClosesASessionThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	const readOnly = "SET default_transaction_read_only = on"
	_, db := newOutbox(t, pgoutbox.Config{})
	cfg := db.Pool.Config()
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	sqlDB := db.SQL(t)
	sqlDB.SetMaxOpenConns(1)
	onDB := onSQL(t, sqlDB)
	require.NoError(t, onDB.Migrate(t.Context())) // learns the address from the only connection
	for name, way := range map[string]struct {
		spoil, enqueue func(ctx context.Context) error
	}{
		"pgx": {
			spoil: func(ctx context.Context) error { _, err := pool.Exec(ctx, readOnly); return err },
			enqueue: func(ctx context.Context) error {
				return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, keyed("k", "x")...) })
			},
		},
		"database/sql": {
			spoil: func(ctx context.Context) error { _, err := sqlDB.ExecContext(ctx, readOnly); return err },
			enqueue: func(ctx context.Context) error {
				return onDB.InSQLTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return onDB.EnqueueContext(ctx, keyed("k", "x")...) })
			},
		},
	} {
		require.NoError(t, way.spoil(t.Context()), name)
		require.ErrorContains(t, way.enqueue(t.Context()), "25006", name)
		require.NoError(t, way.enqueue(t.Context()), name)
	}
}
