package pgmigrate

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Use lends a connection that is outside any transaction to use, for as long as it
// runs.
func (d DB) Use(ctx context.Context, use func(*pgx.Conn) error) error {
	return d.run(ctx, use)
}
