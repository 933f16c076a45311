package testenv

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// UniqueName is exported for tests.
func UniqueName() string { return uniqueName() }

// DropTemplate drops a template that only one test can want.
func DropTemplate(tb testing.TB, templates ...Template) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := dropTemplate(context.Background(), use(tb, KindPostgres).Address, templateName(templates)); err != nil {
			tb.Error(err)
		}
	})
}

func dropTemplate(ctx context.Context, address, name string) (err error) {
	conn, err := connectPostgres(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, `ALTER DATABASE `+pgx.Identifier{name}.Sanitize()+` WITH IS_TEMPLATE false`); err != nil {
		return err
	}

	return dropDatabase(ctx, conn, name)
}
