package sqlinbox

import (
	"context"
	"io/fs"

	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// neededSchema is the oldest version of the schema that this version of the library works
// with.
const neededSchema = 1

// Migrate creates or upgrades the inbox's tables. Many processes may call it at once. It
// does nothing if everything is in place. On MySQL and MariaDB each statement commits by
// itself; after an error, call it again.
func (in *Inbox) Migrate(ctx context.Context) error {
	return in.store.Migrate(ctx)
}

// SchemaStatus looks at the schema and changes nothing.
func (in *Inbox) SchemaStatus(ctx context.Context) (outboxadmin.SchemaStatus, error) {
	var s outboxadmin.SchemaStatus
	var err error
	s.Current, s.Latest, err = in.store.Schema(ctx)
	return s, err
}

// Migrations returns the schema for a dialect and cfg as files by name, such as
// "00001_init.sql", for teams that keep all their migrations in one tool. goose runs them
// as they are. They record their versions, so that Migrate agrees with the tool. Only
// Table of cfg matters.
func Migrations(dialect outbox.Dialect, cfg Config) (fs.FS, error) {
	t, err := renderTables(nil, dialect, cfg.withDefaults())
	if err != nil {
		return nil, err
	}
	return t.Files()
}
