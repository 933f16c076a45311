package pgoutbox

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/txctx"
)

// InTx runs fn in a transaction of the outbox's pool, commits it and wakes the
// relays of this process, and with RunNotifier those of others. An error or a panic of fn rolls back. The context that
// fn is given carries tx, so that EnqueueContext and Watermill publishers on it
// enqueue in the same transaction.
//
// Where the connection breaks after COMMIT was sent, InTx returns an error although
// the transaction may have been committed. Who tries again must look first whether
// it was, in the same transaction, such as by the key of a row that fn writes.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		return fn(ContextWithTx(ctx, tx), tx)
	})
	if err != nil {
		return err
	}
	return o.committed(ctx)
}

// committed wakes the relays.
func (o *Outbox) committed(ctx context.Context) error {
	if err := failpoint.Inject(ctx, failpoint.ProducerCommitAmbiguous); err != nil {
		return err
	}
	if failpoint.Inject(ctx, failpoint.ProducerAfterCommitBeforeWake) == nil {
		o.Wake()
	}
	return nil
}

// Wake tells the relays of this process, and with RunNotifier those of others, that
// a transaction has committed. Call
// it after the commit of a transaction of your own; without it they find the
// messages by polling. It never blocks.
func (o *Outbox) Wake() {
	o.bell.ring()
}

// ContextWithTx returns a context that carries tx, for EnqueueContext.
func ContextWithTx(ctx context.Context, tx pgx.Tx) context.Context {
	return txctx.With(ctx, tx)
}

// ContextWithSQLTx returns a context that carries tx, for EnqueueContext.
func ContextWithSQLTx(ctx context.Context, tx *sql.Tx) context.Context {
	return txctx.With(ctx, tx)
}
