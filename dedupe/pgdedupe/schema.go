package pgdedupe

import (
	"context"
	"embed"
	"io/fs"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// Migrate creates or upgrades the schema. It is safe to call from many processes
// at once and does nothing where everything is in place.
func (s *Store) Migrate(ctx context.Context) error {
	set, err := migrations(s.cfg)
	if err != nil {
		return err
	}
	return set.Migrate(ctx, pgmigrate.FromPool(s.pool), pgmigrate.Options{LockTimeout: s.cfg.MigrateLockTimeout})
}

// Migrations returns the schema for cfg as files that goose and tern run as they
// are. Only Schema and Table of cfg matter.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	set, err := migrations(cfg)
	if err != nil {
		return nil, err
	}
	return set.Export()
}

func migrations(cfg Config) (pgmigrate.Set, error) {
	sub, err := fs.Sub(migrationFiles, "migrations")
	return pgmigrate.Set{Component: "dedupe", Names: cfg.names(), FS: sub}, err
}

// statements are the rendered SQL of a store.
type statements struct {
	claim, look, extend, complete, finished, release, prune, hidden string
}

func render(cfg Config) (statements, error) {
	var s statements
	err := sqlfile.Load(sqlFiles, cfg.names().Render, map[string]*string{
		"claim": &s.claim, "look": &s.look, "extend": &s.extend, "complete": &s.complete,
		"finished": &s.finished, "release": &s.release, "prune": &s.prune, "hidden": &s.hidden,
	})
	return s, err
}
