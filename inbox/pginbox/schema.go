package pginbox

import (
	"context"
	"io/fs"
)

// SchemaStatus is the state of the inbox's schema.
type SchemaStatus struct {
	// Current is the version in the database, 0 if there is none; Latest is
	// the one this library was written for. A Current above Latest is fine: a
	// newer release has migrated already.
	Current, Latest int
	// Pending are the names of the migrations that Migrate would apply.
	Pending []string
}

// Migrate creates or upgrades the inbox's schema. It is safe to call from many
// processes at once and does nothing if everything is in place. No wait for
// a lock exceeds Config.MigrateLockTimeout; when one does, the error has
// SQLSTATE 55P03 and Migrate can be called again. Migrations only expand: the
// previous release of the library goes on working.
func (in *Inbox) Migrate(ctx context.Context) error {
	return in.cfg.schema().Migrate(ctx, in.db)
}

// SchemaStatus looks at the schema and changes nothing.
func (in *Inbox) SchemaStatus(ctx context.Context) (SchemaStatus, error) {
	status, err := in.cfg.schema().Status(ctx, in.db)
	return SchemaStatus(status), err
}

// Migrations returns the schema for cfg as files that goose and tern run as they
// are, for teams that keep all their migrations in one tool. Only Schema and
// Table of cfg matter.
func Migrations(cfg Config) (fs.FS, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return cfg.schema().Export()
}
