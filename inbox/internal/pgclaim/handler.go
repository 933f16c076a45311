package pgclaim

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/internal/pgunit"
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

// handlerTx is the transaction as a handler gets it: everything except Commit. Once rolled back
// it accepts no more statements, and the delivery fails.
type handlerTx struct {
	*pgunit.Unit
}

// Commit returns ErrCommitInHandler.
func (handlerTx) Commit(context.Context) error {
	return ErrCommitInHandler
}

// WrapBatch returns process with the name of handle, the function that it runs, in the context. So b can refuse a
// second handler.
func WrapBatch(b *inbox.Batch, handle any, process inbox.BatchFunc) inbox.BatchFunc {
	name := onehandler.BatchFunction(handle)
	return func(ctx context.Context, msgs []*message.Message) []error {
		return process(onehandler.With(ctx, b, name), msgs)
	}
}
