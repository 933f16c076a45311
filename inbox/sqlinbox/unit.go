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

// unit is a driver.Unit: a transaction that outlives the context with which it was begun.
// Otherwise database/sql would roll it back when that context ends, even during the commit.
type unit struct {
	conn   *sql.Conn
	tx     *sql.Tx
	ctx    context.Context //nolint:containedctx // the transaction's lifetime
	cancel context.CancelFunc
	stop   func() bool // detaches the transaction from the claim's context

	watch fullpool.SQL

	proof func(ctx context.Context, tx *sql.Tx) error // returns an error unless the transaction is still open
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

// detach makes the transaction outlive ctx, unless ctx has already ended.
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
	u.discard() // which rolls the refused transaction back
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

// fail rolls back after a claim that has failed for err, or found nothing. A session that accepts
// no claims is closed: otherwise the pool would hand it to the next delivery.
func (u *unit) fail(ctx context.Context, err error) error {
	if sqlstore.Unfit(err) {
		u.discard()
	}
	return errors.Join(err, u.Rollback(ctx))
}

// within ends the transaction if ctx ends before its COMMIT or ROLLBACK has begun. It returns the
// function that returns the connection to the pool. Those two statements themselves are bounded
// only by the timeouts of the driver's connections, since database/sql gives them no context.
func (u *unit) within(ctx context.Context) func() {
	u.stop()
	stop := context.AfterFunc(ctx, u.cancel)
	return func() {
		stop()
		u.release()
	}
}

func (u *unit) release() {
	_ = u.watch.End(func() error { // an error only means that the connection is broken or discarded
		u.cancel()
		if u.conn != nil {
			_ = u.conn.Close()
		}
		return nil
	})
}

// discard closes the connection: the server rolls back its open transaction.
func (u *unit) discard() {
	_ = u.tx.Rollback()
	sqlstore.Discard(u.conn)
}
