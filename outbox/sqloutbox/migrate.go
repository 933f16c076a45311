package sqloutbox

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlmigrate"
	"github.com/leat-go/leat/outbox"
)

//go:embed migrations/*/*.sql
var migrationFiles embed.FS

// relaySchema is the oldest version of the schema that this version of the library works
// with.
const relaySchema = 1

// SchemaStatus is the state of the outbox's schema.
type SchemaStatus struct {
	// Current is the version in the database, 0 if there is none; Latest is the one that
	// this library was written for. A Current above Latest is fine: a newer release has
	// migrated already.
	Current, Latest int
}

// Migrate creates or upgrades the outbox's tables. Many processes may call it at once. It
// does nothing if everything is in place. On MySQL and MariaDB each statement commits by
// itself; after an error, call it again.
func (o *Outbox) Migrate(ctx context.Context) error {
	return o.migrations().Migrate(ctx, o.db)
}

// SchemaStatus looks at the schema and changes nothing.
func (o *Outbox) SchemaStatus(ctx context.Context) (SchemaStatus, error) {
	latest, err := o.migrations().Latest()
	if err != nil {
		return SchemaStatus{}, err
	}
	status := SchemaStatus{Latest: latest}
	err = o.look(ctx, func(q querier) error {
		status.Current, err = o.migrations().Current(ctx, q)
		return err
	})
	return status, err
}

// Migrations returns the schema for a dialect and cfg as files by name, such as
// "00001_init.sql", for teams that keep all their migrations in one tool. goose runs them
// as they are. They record their versions, so that Migrate agrees with the tool. Only
// Table of cfg matters.
func Migrations(dialect Dialect, cfg Config) (map[string]string, error) {
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return (&Outbox{dialect: d, cfg: cfg}).migrations().Export()
}

func (o *Outbox) migrations() sqlmigrate.Set {
	return sqlmigrate.Set{Component: "outbox", Dialect: o.dialect, Table: o.cfg.Table, FS: migrationFiles}
}

// requireSchema returns an error that wraps outbox.ErrNotMigrated if the schema is missing
// or too old.
func (o *Outbox) requireSchema(ctx context.Context) error {
	err := o.look(ctx, func(q querier) error { return o.migrations().Require(ctx, q, relaySchema) })
	if errors.Is(err, sqlmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return err
}
