// Package pgtable is what the stores in PostgreSQL of messages and of HTTP responses have
// in common: one table of records that expire, its names and its migrations.
package pgtable

import (
	"context"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// longestSuffix is that of the longest name beside the table's.
const longestSuffix = "_expires_at_idx"

// Table is one table.
type Table struct {
	// Component names the owner in errors.
	Component string
	// Files have the migrations, in a directory of that name.
	Files fs.FS
	// Schema and Name are the names.
	Schema, Name string
	// TTL is how long a record is kept, at least 1 s.
	TTL time.Duration
	// LockTimeout bounds each wait for a lock in Migrate, at least 1 ms.
	LockTimeout time.Duration
}

// Validate returns an error that wraps outbox.ErrInvalidConfig.
func (t Table) Validate() error {
	if err := t.Names().Validate(longestSuffix); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(t.Schema)+", "+strconv.Quote(t.Name), err.Error())
	}
	if t.TTL < time.Second {
		return outbox.ConfigError("TTL", t.TTL, "must be at least 1s")
	}
	if t.LockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", t.LockTimeout, "must be at least 1ms")
	}
	return nil
}

// Names are the schema and the table.
func (t Table) Names() pgmigrate.Names {
	return pgmigrate.Names{Schema: t.Schema, Table: t.Name}
}

// Migrate creates or upgrades the table.
func (t Table) Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return t.set().Migrate(ctx, pgmigrate.FromPool(pool), pgmigrate.Options{LockTimeout: t.LockTimeout})
}

// Status returns which migrations were applied.
func (t Table) Status(ctx context.Context, pool *pgxpool.Pool) (pgmigrate.Status, error) {
	return t.set().Status(ctx, pgmigrate.FromPool(pool))
}

// Export returns the migrations as files that other tools run as they are.
func (t Table) Export() (fs.FS, error) {
	return t.set().Export()
}

func (t Table) set() pgmigrate.Set {
	return pgmigrate.Set{Component: t.Component, Names: t.Names(), FS: pgmigrate.Embedded(t.Files)}
}

// pruneChunk is the number of records that one statement of Prune removes.
const pruneChunk = 5000

// Execer runs a statement; pgpin.Committed is one.
type Execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Prune removes records by statement, which removes at most $1 that have expired, until
// none is left, and returns their number.
func Prune(ctx context.Context, db Execer, statement string) (int64, error) {
	var total int64
	for {
		tag, err := db.Exec(ctx, statement, pruneChunk)
		if err != nil {
			return total, err
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < pruneChunk {
			return total, nil
		}
	}
}
