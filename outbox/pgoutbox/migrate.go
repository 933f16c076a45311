package pgoutbox

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// neededSchema is the oldest version of the schema that relays and maintenance of this version of
// the library work with. Producers do not check it.
const neededSchema = 1

// Migrate creates or upgrades the outbox's schema. It is safe to call from many processes at once
// and does nothing if everything is in place. No wait for a lock exceeds
// Config.MigrateLockTimeout; when one does, the error has SQLSTATE 55P03 and Migrate can be
// called again. Migrations only expand: the previous release of the library goes on working.
func (o *Outbox) Migrate(ctx context.Context) error {
	return o.cfg.migrations().Migrate(ctx, pgmigrate.FromSessions(o.pool.Sessions), pgmigrate.Options{LockTimeout: o.cfg.MigrateLockTimeout})
}

// SchemaStatus reads the state of the schema and changes nothing.
func (o *Outbox) SchemaStatus(ctx context.Context) (admin.SchemaStatus, error) {
	st, err := o.cfg.migrations().Status(ctx, pgmigrate.FromSessions(o.pool.Sessions))
	return admin.SchemaStatus{Current: st.Current, Latest: st.Latest}, err
}

// requireSchema returns an error that wraps outbox.ErrNotMigrated if the schema is missing or
// older than neededSchema.
func (o *Outbox) requireSchema(ctx context.Context) error {
	err := o.cfg.migrations().Require(ctx, pgmigrate.FromSessions(o.pool.Sessions), neededSchema)
	if errors.Is(err, pgmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return err
}

// Migrations returns the schema for cfg as files that goose and tern run as they are, for teams
// that keep all their migrations in one tool. It only uses Schema and Table of cfg.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return cfg.migrations().Export()
}

func (c Config) migrations() pgmigrate.Set {
	return pgmigrate.Set{Component: "outbox", Names: c.names(), FS: pgmigrate.Embedded(migrationFiles)}
}
