package pgpin

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/reserved.sql
var reserved string

// ErrReserved is returned by RefuseReserved.
var ErrReserved = errors.New("leat: the server has no connection left but those that it reserves (superuser_reserved_connections, reserved_connections)")

// RefuseReserved returns ErrReserved if conn, which is new, has one of the slots that the server
// reserves for operators: if leat took them, operators could not log in to investigate.
func RefuseReserved(ctx context.Context, conn *pgx.Conn) error {
	results, err := conn.PgConn().Exec(ctx, reserved).ReadAll() // in any encoding
	if err != nil {
		return err
	}
	if string(results[0].Rows[0][0]) == "t" {
		return ErrReserved
	}
	return nil
}
