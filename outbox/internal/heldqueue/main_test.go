package heldqueue_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"log"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 0
func TestMain(m *testing.M) {
	if err := testenv.RapidChecks(40); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// migrated is a database with the outbox's tables in it.
func migrated(t *testing.T) testenv.Template {
	t.Helper()
	files, err := pgoutbox.Migrations(pgoutbox.Config{})
	require.NoError(t, err)
	sum := sha256.New()
	require.NoError(t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		sum.Write(raw)
		return err
	}))
	return testenv.Template{Name: "pgoutbox", Version: hex.EncodeToString(sum.Sum(nil)), Apply: migrate}
}

func migrate(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	return ob.Migrate(ctx)
}
