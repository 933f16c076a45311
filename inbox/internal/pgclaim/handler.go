package pgclaim

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/internal/txctx"
)

// Tx returns the transaction of the delivery whose handler got ctx, or nil.
func Tx(ctx context.Context) pgx.Tx {
	tx, _ := txctx.As[pgx.Tx](ctx)
	return tx
}

// SQLTx is Tx for database/sql.
func SQLTx(ctx context.Context) *sql.Tx {
	tx, _ := txctx.As[*sql.Tx](ctx)
	return tx
}

// handlerTx is the transaction as a handler gets it: everything but Commit. Once
// rolled back it takes no more statements, and the delivery fails.
type handlerTx struct {
	pgx.Tx
}

// Commit returns ErrCommitInHandler.
func (handlerTx) Commit(context.Context) error {
	return ErrCommitInHandler
}

// Wrap makes a handler of a router of one that gets the transaction that from finds.
func Wrap[T comparable](
	p *inbox.Processor, from func(ctx context.Context) T, handle func(ctx context.Context, tx T, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	name := onehandler.Function(handle)
	return func(msg *message.Message) error {
		if message.HandlerNameFromCtx(msg.Context()) == "" {
			if err := p.OneHandler(name); err != nil {
				return err
			}
		}
		own := lent.Of(msg)
		defer own.Settle(false)
		_, err := p.Process(msg.Context(), msg, func(ctx context.Context) error {
			var none T
			tx := from(ctx)
			if tx == none {
				return ErrNoTx
			}
			return own.To(ctx, func(msg *message.Message) error { return handle(ctx, tx, msg) })
		})
		own.Settle(err == nil)
		return err
	}
}

// WrapBatch names handle, which process runs, as the handler of b.
func WrapBatch(b *inbox.Batch, handle any, process inbox.BatchFunc) inbox.BatchFunc {
	name := onehandler.BatchFunction(handle)
	return func(ctx context.Context, msgs []*message.Message) []error {
		return process(onehandler.With(ctx, b, name), msgs)
	}
}
