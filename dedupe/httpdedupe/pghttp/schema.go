package pghttp

import (
	"context"
	"embed"
	"io/fs"

	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// Migrate creates or upgrades the schema. It is safe to call from many processes
// at once and does nothing if everything is in place.
func (s *Store) Migrate(ctx context.Context) error {
	return s.cfg.table().Migrate(ctx, s.pool)
}

// Migrations returns the schema for cfg as files that goose and tern run as they
// are. Only Schema and Table of cfg matter.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return cfg.table().Export()
}

// statements are the rendered SQL of a store.
type statements struct {
	lock, look, put, prune string
}

func render(cfg Config) (statements, error) {
	var s statements
	err := sqlfile.Load(sqlFiles, cfg.table().Names().Render, map[string]*string{"lock": &s.lock, "look": &s.look, "put": &s.put, "prune": &s.prune})
	return s, err
}
