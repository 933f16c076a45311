package sqlinbox

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/internal/txctx"
)

// Tx returns the transaction of the delivery whose handler got ctx, which is
// msg.Context() in a Watermill handler. It is nil if ctx carries none.
//
// What is written in it commits together with the record of the message. The handler must not end
// it, and must not use it after it has returned.
func Tx(ctx context.Context) *sql.Tx {
	tx, _ := txctx.As[*sql.Tx](ctx)
	return tx
}
