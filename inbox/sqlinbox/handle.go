package sqlinbox

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Handle wraps one handler, for a consumer that has no router or puts but one handler
// behind the inbox. The result returns nil exactly if msg can be acknowledged; see
// inbox.Processor's Process. Given another function for the same inbox, all messages of
// both fail with inbox.ErrTwoHandlers.
func Handle(in *Inbox, handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error) message.NoPublishHandlerFunc {
	name := onehandler.Function(handle)
	return func(msg *message.Message) error {
		if message.HandlerNameFromCtx(msg.Context()) == "" {
			if err := in.OneHandler(name); err != nil {
				return err
			}
		}
		own := lent.Of(msg)
		defer own.Settle(false)
		_, err := in.Process(msg.Context(), msg, func(ctx context.Context) error {
			tx := Tx(ctx)
			if tx == nil {
				return outbox.ErrNotInTransaction
			}
			return own.To(ctx, func(msg *message.Message) error { return handle(ctx, tx, msg) })
		})
		own.Settle(err == nil)
		return err
	}
}

// Tx returns the transaction of the delivery whose handler got ctx, which is
// msg.Context() in a Watermill handler. It is nil if ctx carries none.
//
// What is written in it commits together with the record of the message. The handler must
// not end it, and not use it after it has returned.
func Tx(ctx context.Context) *sql.Tx {
	tx, _ := txctx.As[*sql.Tx](ctx)
	return tx
}
