package pginbox

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
)

// Handle wraps one handler, for a consumer that has no router or puts but one
// handler behind the inbox. The result returns nil exactly if msg can be
// acknowledged; see inbox.Processor's Process. In must come from New.
func Handle(
	in *Inbox, handle func(ctx context.Context, tx pgx.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		_, err := in.Process(msg.Context(), msg, func(ctx context.Context) error {
			tx := Tx(ctx)
			if tx == nil {
				return errNoTx
			}
			return handle(ctx, tx, msg)
		})
		return err
	}
}

// HandleSQL is Handle for database/sql. In must come from NewSQL.
func HandleSQL(
	in *Inbox, handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		_, err := in.Process(msg.Context(), msg, func(ctx context.Context) error {
			tx := SQLTx(ctx)
			if tx == nil {
				return errNoTx
			}
			return handle(ctx, tx, msg)
		})
		return err
	}
}
