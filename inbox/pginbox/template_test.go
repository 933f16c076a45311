package pginbox_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// template has the inbox where it is by default, and a table without
// constraints to write in.
var template = testenv.Template{
	Name:    "pginbox",
	Version: migrationsVersion(),
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
