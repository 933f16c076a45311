package pgmigrate

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Lend calls use with a connection that is outside any transaction, and takes it
// back afterwards.
func (d DB) Lend(ctx context.Context, use func(*pgx.Conn) error) error {
	return d.run(ctx, use)
}
