package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
)

// alone refuses a consumer that has an inbox of positions. A database in which
// there can be none, since it is not migrated so far, is fine; so is a role that
// was never allowed to look.
func (k keys) alone(ctx context.Context, conn *pgx.Conn, number int16) error {
	var used bool
	err := conn.QueryRow(ctx, k.used, number).Scan(&used)
	switch {
	case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InsufficientPrivilege):
		return nil
	case err == nil && used:
		return ErrOtherInbox
	default:
		return err
	}
}
