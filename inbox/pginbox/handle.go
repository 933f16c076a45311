package pginbox

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// Handle wraps one handler, for a consumer that has no router or puts but one
// handler behind the inbox. The result returns nil exactly if msg can be
// acknowledged; see inbox.Processor's Process. In must come from New.
//
// An inbox remembers the messages of one handler. Given another function for the same
// inbox, this one, HandleSQL and HandleQueued, all messages of both fail with
// inbox.ErrTwoHandlers. Functions that one line of code makes cannot be told apart.
func Handle(
	in *Inbox, handle func(ctx context.Context, tx pgx.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return pgclaim.Wrap(in.Processor, Tx, handle)
}

// HandleSQL is Handle for database/sql. In must come from NewSQL.
func HandleSQL(
	in *Inbox, handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return pgclaim.Wrap(in.Processor, SQLTx, handle)
}

// Tx returns the transaction of the delivery whose handler got ctx, which is
// msg.Context() in a Watermill handler. It is nil if ctx carries none, or one
// of database/sql: outside the inbox, or with an Inbox of NewSQL.
//
// What is written in it commits together with the record of the message. Its
// Commit returns an error; its Rollback makes the delivery fail; its
// Begin sets a savepoint. It must not be used after the handler has returned.
func Tx(ctx context.Context) pgx.Tx {
	return pgclaim.Tx(ctx)
}

// SQLTx is Tx for an Inbox of NewSQL. The handler must not end the transaction.
func SQLTx(ctx context.Context) *sql.Tx {
	return pgclaim.SQLTx(ctx)
}
