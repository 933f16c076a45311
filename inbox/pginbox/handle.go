package pginbox

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// Tx returns the transaction of the delivery whose handler got ctx, which is msg.Context() in a
// Watermill handler. It is nil if ctx carries no transaction, as outside the inbox, or one of
// database/sql, as with an Inbox of NewSQL.
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
