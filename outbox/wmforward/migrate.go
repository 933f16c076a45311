package wmforward

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// neededSchema is the oldest version of the state tables that this version of
// the library works with.
const neededSchema = 1

// Migrate creates or upgrades the Source's own tables. It does not touch the forwarder's. It is
// safe to call from several processes at once and does nothing if everything is in place.
func (s *Source) Migrate(ctx context.Context) error {
	return s.cfg.migrations().Migrate(ctx, pgmigrate.FromSessions(s.pool.Sessions), pgmigrate.Options{LockTimeout: s.cfg.MigrateLockTimeout})
}

// Migrations returns the tables for cfg as files that goose and tern run as they are, for teams
// that keep all their migrations in one tool. It only uses the names in cfg.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return cfg.migrations().Export()
}

// requireSchema returns an error that wraps outbox.ErrNotMigrated if the tables are missing or
// too old.
func (s *Source) requireSchema(ctx context.Context) error {
	err := s.cfg.migrations().Require(ctx, pgmigrate.FromSessions(s.pool.Sessions), neededSchema)
	if errors.Is(err, pgmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return err
}

func (c Config) migrations() pgmigrate.Set {
	return pgmigrate.Set{Component: "wmforward", Names: c.state(), FS: pgmigrate.Embedded(migrationFiles)}
}
