package sqloutbox

import (
	"context"
	"io/fs"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// neededSchema is the oldest version of the schema that this version of the library works
// with.
const neededSchema = 1

// Migrate creates or upgrades the outbox's tables. Several processes may call it at once. It does
// nothing if everything is in place. On MySQL and MariaDB each statement commits by itself; after
// an error, call it again.
func (o *Outbox) Migrate(ctx context.Context) error {
	return o.log.Migrate(ctx)
}

// SchemaStatus reads the state of the schema and changes nothing.
func (o *Outbox) SchemaStatus(ctx context.Context) (admin.SchemaStatus, error) {
	var s admin.SchemaStatus
	var err error
	s.Current, s.Latest, err = o.log.Schema(ctx)
	return s, err
}

// Migrations returns the schema for a dialect and cfg as files by name, such as "00001_init.sql",
// for teams that keep all their migrations in one tool. goose runs them as they are. They record
// their versions, so that Migrate agrees with the tool. It only uses Table of cfg.
func Migrations(dialect outbox.Dialect, cfg Config) (fs.FS, error) {
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	store, err := cfg.store(nil, d)
	if err != nil {
		return nil, err
	}
	return store.Files()
}
