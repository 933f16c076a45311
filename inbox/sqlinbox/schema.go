package sqlinbox

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/sqlmigrate"
	"github.com/leat-go/leat/outbox"
)

//go:embed migrations/*/*.sql
var migrationFiles embed.FS

// neededSchema is the oldest version of the schema that this version of the library works
// with.
const neededSchema = 1

// Migrate creates or upgrades the inbox's tables. Many processes may call it at once. It
// does nothing if everything is in place. On MySQL and MariaDB each statement commits by
// itself; after an error, call it again.
func (in *Inbox) Migrate(ctx context.Context) error {
	return in.store.migrations().Migrate(ctx, in.db)
}

// Migrations returns the schema for a dialect and cfg as files by name, such as
// "00001_init.sql", for teams that keep all their migrations in one tool. goose runs them
// as they are. They record their versions, so that Migrate agrees with the tool. Only
// Table of cfg matters.
func Migrations(dialect Dialect, cfg Config) (map[string]string, error) {
	t, err := renderTables(dialect, cfg.withDefaults())
	if err != nil {
		return nil, err
	}
	return t.migrations().Export()
}

func (t *tables) migrations() sqlmigrate.Set {
	return sqlmigrate.Set{Component: "inbox", Dialect: t.dialect, Table: t.name, FS: migrationFiles}
}

// requireSchema returns an error that wraps outbox.ErrNotMigrated if the schema is missing
// or too old.
func (t *tables) requireSchema(ctx context.Context) error {
	err := t.migrations().Require(ctx, t.db, neededSchema)
	if errors.Is(err, sqlmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return err
}
