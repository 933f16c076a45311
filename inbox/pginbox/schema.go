package pginbox

import (
	"context"
	"io/fs"

	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// Migrate creates or upgrades the inbox's schema. It is safe to call from many processes at once
// and does nothing if everything is in place. No wait for a lock exceeds
// Config.MigrateLockTimeout; if one would, the error has SQLSTATE 55P03 and Migrate can be called
// again. Migrations only expand: the previous release of the library continues to work.
func (in *Inbox) Migrate(ctx context.Context) error {
	return in.cfg.schema().Migrate(ctx, in.db)
}

// SchemaStatus looks at the schema and changes nothing.
func (in *Inbox) SchemaStatus(ctx context.Context) (outboxadmin.SchemaStatus, error) {
	status, err := in.cfg.schema().Status(ctx, in.db)
	return outboxadmin.SchemaStatus{Current: status.Current, Latest: status.Latest}, err
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
