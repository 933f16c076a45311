package pgoutbox_test

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// migrateTo1 makes the schema as the release before this one knows it.
func migrateTo1(ctx context.Context, url string) error {
	files, err := pgoutbox.Migrations(pgoutbox.Config{})
	if err != nil {
		return err
	}
	raw, err := fs.ReadFile(files, "00001_outbox.sql")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, string(raw))
	return err
}
