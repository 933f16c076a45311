package pginbox_test

import (
	"context"
	"log"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestMain also runs the processes that its own tests start.
//
//leat:level 1
func TestMain(m *testing.M) {
	if os.Getenv(envStormDatabase) != "" {
		if err := stormProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	testenv.Main(m)
}

// template has the inbox at its default place, and a table without constraints to write to.
var template = testenv.Template{
	Name:    "pginbox",
	Version: testenv.VersionOf(pginbox.Migrations(pginbox.Config{})),
	Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		in, err := pginbox.New(pool, "migrator", pginbox.Config{})
		if err != nil {
			return err
		}
		if err := in.Migrate(ctx); err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `CREATE TABLE effects (effect text)`)
		return err
	},
}
