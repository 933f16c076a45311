package pginbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrRowSecurity is returned for every message if row level security would hide rows of
// the inbox from the role: an id that cannot be seen is neither new nor processed, and
// its message would wait for ever. Give the role BYPASSRLS, or disable it. It is looked
// at once a connection.
var ErrRowSecurity = errors.New("leat: row level security would hide rows of the inbox; give the role BYPASSRLS, or disable it")

// visible returns ErrRowSecurity if rows may be hidden.
func (k keys) visible(ctx context.Context, conn *pgx.Conn) error {
	var partly string
	err := conn.QueryRow(ctx, k.hidden).Scan(&partly)
	if err == nil && partly != "" {
		err = fmt.Errorf("%w: on %s", ErrRowSecurity, partly)
	}
	return err
}
