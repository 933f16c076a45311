package sqlinbox

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Handle wraps one handler, for a consumer that has no router or puts but one handler
// behind the inbox. The result returns nil exactly if msg can be acknowledged; see
// inbox.Processor's Process.
func Handle(in *Inbox, handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		_, err := in.Process(msg.Context(), msg, func(ctx context.Context) error {
			tx := Tx(ctx)
			if tx == nil {
				return outbox.ErrNotInTransaction
			}
			return handle(ctx, tx, msg)
		})
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
