package sqlinbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/txctx"
)

// unit is a driver.Unit: a transaction that outlives the context that it was begun with.
// database/sql would roll it back with that context, even while it is being committed.
type unit struct {
	conn   *sql.Conn
	tx     *sql.Tx
	ctx    context.Context //nolint:containedctx // what the transaction hangs on
	cancel context.CancelFunc
	stop   func() bool // keeps the transaction although the claim's context ends

	watch fullpool.SQL

	proof func(ctx context.Context, tx *sql.Tx) error // that the transaction is still open
}

// begin begins a transaction that ends with ctx until it is detached.
func (t *tables) begin(ctx context.Context, level sql.IsolationLevel) (*unit, error) {
	u := &unit{}
	u.ctx, u.cancel = context.WithCancel(context.WithoutCancel(ctx))
	u.stop = context.AfterFunc(ctx, u.cancel)
	err := t.full.Take(ctx, func(wait context.Context) (err error) {
		u.conn, u.tx, err = t.Begin(wait, u.ctx, t.Options(level))
		return err
	})
	if err == nil {
		u.watch.Begin(t.full, t.DB)
		return u, nil
	}
	if !u.stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	u.release()
	return nil, t.Describe(err)
}

// detach keeps the transaction although ctx ends, unless it has ended already.
func (u *unit) detach(ctx context.Context) error {
	if !u.stop() {
		return context.Cause(ctx)
	}
	return nil
}

// proof returns a query that finds a row that only this transaction can have written.
func (t *tables) proof(name string, literals ...sqldialect.Literal) func(ctx context.Context, tx *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		var one int
		return tx.QueryRowContext(ctx, sqldialect.Inline(t.SQL[name], literals...)).Scan(&one)
	}
}

// Context implements driver.Unit.
func (u *unit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, u.tx)
}

// Commit implements driver.Unit.
func (u *unit) Commit(ctx context.Context) error {
	defer u.within(ctx)()
	if err := u.proof(ctx, u.tx); err != nil {
		u.discard()
		if sqlstore.IsNoRows(err) || errors.Is(err, sql.ErrTxDone) {
			return driver.ErrEnded
		}
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	err := u.tx.Commit()
	if err == nil {
		return nil
	}
	u.discard() // which rolls back what was refused
	if sqldialect.CommitRefused(err) {
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	return err
}

// Rollback implements driver.Unit.
func (u *unit) Rollback(ctx context.Context) error {
	defer u.within(ctx)()
	err := u.tx.Rollback()
	if err == nil || errors.Is(err, sql.ErrTxDone) { // by the handler, or with its context
		return nil
	}
	u.discard()
	return err
}

// fail rolls back after a claim that has failed for err, or found nothing. A session that
// takes no claims is closed: the pool would hand it to the next delivery.
func (u *unit) fail(ctx context.Context, err error) error {
	if sqlstore.Unfit(err) {
		u.discard()
	}
	return errors.Join(err, u.Rollback(ctx))
}

// within ends the transaction if ctx ends before its COMMIT or ROLLBACK has begun, and
// returns what gives the connection back. Those two themselves are bounded by nothing but
// the time-outs of the driver's connections, since database/sql gives them no context.
func (u *unit) within(ctx context.Context) func() {
	u.stop()
	stop := context.AfterFunc(ctx, u.cancel)
	return func() {
		stop()
		u.release()
	}
}

func (u *unit) release() {
	_ = u.watch.End(func() error { // without an error: it is broken, or discarded
		u.cancel()
		if u.conn != nil {
			_ = u.conn.Close()
		}
		return nil
	})
}

// discard closes the connection: the server rolls back what is open on it.
func (u *unit) discard() {
	_ = u.tx.Rollback()
	sqlstore.Discard(u.conn)
}
