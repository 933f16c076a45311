package sqloutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/txctx"
)

// InTx runs fn in a transaction of the outbox's pool with the database's own isolation
// level, commits it and wakes the relays of this process. An error or a panic of fn rolls
// back. The context that fn is given carries tx, so that EnqueueContext and Watermill
// publishers on it enqueue in the same transaction. If an Enqueue in it has failed, InTx
// returns an error, also if fn returns nil.
//
// If the connection breaks after COMMIT was sent, InTx returns an error although the
// transaction may have been committed. Before you retry, check in the new transaction
// whether the first one committed, such as by the key of a row that fn writes.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := o.log.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("leat: begin: %w", o.log.Describe(err))
	}
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	if err := fn(ContextWithTx(ctx, tx), tx); err != nil {
		return err
	}
	err = tx.Commit()
	if errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("leat: commit: the transaction has ended already, by fn or by an Enqueue that has failed: %w", err)
	}
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ProducerCommitAmbiguous)
	}
	if err != nil {
		return fmt.Errorf("leat: commit: %w", err)
	}
	if failpoint.Inject(ctx, failpoint.ProducerAfterCommitBeforeWake) == nil {
		o.Wake()
	}
	return nil
}

// Wake tells the relays of this process that a transaction has committed. Call it after
// the commit of a transaction of your own; without it they find the messages by polling.
// It never blocks.
func (o *Outbox) Wake() {
	o.bell.ring()
}

// ContextWithTx returns a context that carries tx, for EnqueueContext.
func ContextWithTx(ctx context.Context, tx *sql.Tx) context.Context {
	return txctx.With(ctx, tx)
}
