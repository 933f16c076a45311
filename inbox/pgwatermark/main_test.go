package pgwatermark_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestMain makes this program what its own tests start as processes.
func TestMain(m *testing.M) {
	if os.Getenv(envMemberDatabase) != "" {
		if err := memberProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	testenv.Main(m)
}

var errOnPurpose = errors.New("on purpose")

func nothing(context.Context) error { return nil }

// template has the inbox where it is by default, and a table without
// constraints to write in.
var template = testenv.Template{
	Name:    "pgwatermark",
	Version: migrationsVersion(),
	Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		return prepare(ctx, pool, `CREATE TABLE effects (effect text)`)
	},
}

// migrationsVersion is a hash of the migrations, so that a template is made anew
// when they change.
func migrationsVersion() string {
	files, err := pginbox.Migrations(pginbox.Config{})
	if err != nil {
		return err.Error()
	}
	h := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		h.Write(text)
		return err
	})
	return fmt.Sprintf("%x %v", h.Sum(nil)[:8], err)
}

func prepare(ctx context.Context, pool *pgxpool.Pool, statement string) error {
	in, err := pgwatermark.New(pool, "migrator", []string{"any"}, pgwatermark.Config{})
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, statement)
	return err
}

// onDatabase runs an example on a database of its own, with an inbox and a table
// of points.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool) error) (err error) {
	ctx := context.Background()
	env, err := testenv.Start(ctx, testenv.Needs{Postgres: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	url, err := env.CreateDatabase(ctx, "example")
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := prepare(ctx, pool, `CREATE TABLE points (customer text, points int)`); err != nil {
		return err
	}
	return run(ctx, pool)
}
