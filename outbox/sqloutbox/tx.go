package sqloutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// InTx runs fn in a transaction of the outbox's pool with the database's own isolation
// level, commits it and wakes the relays of this process. An error or a panic of fn rolls
// back. The context that fn is given carries tx, so that EnqueueContext and Watermill
// publishers on it enqueue in the same transaction. If an Enqueue in it has failed, InTx
// returns an error, even if fn returns nil.
//
// If the connection breaks after COMMIT was sent, the transaction may have been committed:
// the error wraps outbox.ErrCommitUnknown. Before you retry, check in the new transaction
// whether the first one committed, such as by the key of a row that fn writes.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	conn, tx, err := o.log.Begin(ctx, ctx, nil)
	if err != nil {
		return fmt.Errorf("leat: begin: %w", o.log.Waited(ctx, o.log.Describe(err)))
	}
	defer func() { _ = conn.Close() }()
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	if err := fn(ContextWithTx(ctx, tx), tx); err != nil {
		if sqlstore.Unfit(err) { // such as of a demoted primary: the pool would reuse it
			_ = tx.Rollback()
			sqlstore.Discard(conn)
		}
		return err
	}
	if err := commit(ctx, tx); err != nil {
		return err
	}
	if failpoint.Inject(ctx, failpoint.ProducerAfterCommitBeforeWake) == nil {
		o.Wake()
	}
	return nil
}

func commit(ctx context.Context, tx *sql.Tx) error {
	err := tx.Commit()
	switch {
	case err == nil:
		if err = failpoint.Inject(ctx, failpoint.ProducerCommitAmbiguous); err == nil {
			return nil
		}
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("leat: commit: the transaction has ended already, by fn or by an Enqueue that has failed: %w", err)
	// Both mean that COMMIT was not sent. A driver's commit has no context, so ctx's error comes
	// from database/sql, which checked it before.
	case errors.Is(err, driver.ErrBadConn), ctx.Err() != nil && errors.Is(err, ctx.Err()), sqldialect.CommitRefused(err):
		return fmt.Errorf("leat: commit: %w", err)
	}
	return fmt.Errorf("%w: %w", outbox.ErrCommitUnknown, err)
}

// Wake notifies the relays of this process that a transaction has committed. Call it after you
// commit your own transaction; without it they find the messages by polling. It never blocks.
func (o *Outbox) Wake() {
	o.bell.ring()
}

// ContextWithTx returns a context that carries tx, for EnqueueContext.
func ContextWithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return txctx.With(ctx, tx)
}
