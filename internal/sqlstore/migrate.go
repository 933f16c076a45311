package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/internal/sqlmigrate"
)

// Migrate creates or upgrades the tables.
func (s *Store) Migrate(ctx context.Context) error {
	if s.Dialect.OneWriter {
		if err := CheckPlace(ctx, s.DB); err != nil {
			return s.Describe(err)
		}
	}
	return s.migrations.Migrate(ctx, s.DB)
}

// Files returns the migrations as files in the root of a file system.
func (s *Store) Files() (fs.FS, error) { return s.migrations.Export() }

// Schema returns the current version of the schema, and the newest one.
func (s *Store) Schema(ctx context.Context) (current, latest int, err error) {
	if latest, err = s.migrations.Latest(); err != nil {
		return 0, 0, err
	}
	err = s.Look(ctx, func(q Querier) error {
		current, err = s.migrations.Current(ctx, q)
		return err
	})
	return current, latest, err
}

// RequireSchema refuses a schema that is missing, or older than version.
func (s *Store) RequireSchema(ctx context.Context, version int) error {
	err := s.Look(ctx, func(q Querier) error { return s.migrations.Require(ctx, q, version) })
	if errors.Is(err, sqlmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", s.notMigrated, err)
	}
	return err
}
