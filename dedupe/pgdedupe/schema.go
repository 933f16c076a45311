package pgdedupe

import (
	"context"
	"embed"
	"io/fs"

	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox/admin"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// Migrate creates or upgrades the schema. It is safe to call from many processes
// at once and does nothing if everything is in place.
func (s *Store) Migrate(ctx context.Context) error {
	return s.cfg.table().migrate(ctx, s.pool)
}

// SchemaStatus looks at the schema and changes nothing.
func (s *Store) SchemaStatus(ctx context.Context) (admin.SchemaStatus, error) {
	status, err := s.cfg.table().status(ctx, s.pool)
	return admin.SchemaStatus{Current: status.Current, Latest: status.Latest}, err
}

// Migrations returns the schema for cfg as files that goose and tern run as they
// are. Only Schema and Table of cfg matter.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return cfg.table().export()
}

// statements are the rendered SQL of a store.
type statements struct {
	claim, look, extend, complete, finished, release, prune, hidden string
}

func render(cfg Config) (statements, error) {
	var s statements
	err := sqlfile.Load(sqlFiles, cfg.table().names().Render, map[string]*string{
		"claim": &s.claim, "look": &s.look, "extend": &s.extend, "complete": &s.complete,
		"finished": &s.finished, "release": &s.release, "prune": &s.prune, "hidden": &s.hidden,
	})
	return s, err
}
