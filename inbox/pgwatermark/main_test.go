package pgwatermark_test

import (
	"context"
	"errors"
	"log"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestMain makes this program what its own tests start as processes.
//
//leat:level 1
func TestMain(m *testing.M) {
	if os.Getenv(envMemberDatabase) != "" {
		if err := memberProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

var errOnPurpose = errors.New("on purpose")

func nothing(context.Context) error { return nil }

// template has the inbox where it is by default, and a table without
// constraints to write in.
var template = testenv.Template{
	Name:    "pgwatermark",
	Version: testenv.VersionOf(pginbox.Migrations(pginbox.Config{})),
	Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		if err := migrate(ctx, pool); err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `CREATE TABLE effects (effect text)`)
		return err
	},
}

func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	in, err := pgwatermark.New(pool, "migrator", []string{"any"}, pgwatermark.Config{})
	if err != nil {
		return err
	}
	return in.Migrate(ctx)
}

// onDatabase runs an example on a database of its own, with an inbox and a table
// of points.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool) error) error {
	return testenv.OnDatabase(`CREATE TABLE points (customer text, points int)`, func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := migrate(ctx, pool); err != nil {
			return err
		}
		return run(ctx, pool)
	})
}
