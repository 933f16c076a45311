package pgdedupe

import (
	"context"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// longestSuffix is the longest suffix that is added to the table's name.
const longestSuffix = "_expires_at_idx"

// table is what both stores share: one table of records that expire.
type table struct {
	Config

	component string // the owner, in errors
	files     fs.FS  // the migrations, in a directory of that name
}

// validate returns an error that wraps outbox.ErrInvalidConfig.
func (t table) validate() error {
	if err := t.names().Validate(longestSuffix); err != nil {
		return outbox.ConfigError("Schema, Table", strconv.Quote(t.Schema)+", "+strconv.Quote(t.Table), err.Error())
	}
	if t.TTL < time.Second {
		return outbox.ConfigError("TTL", t.TTL, "must be at least 1s")
	}
	if t.MigrateLockTimeout < time.Millisecond {
		return outbox.ConfigError("MigrateLockTimeout", t.MigrateLockTimeout, "must be at least 1ms")
	}
	return nil
}

// names are the schema and the table.
func (t table) names() pgmigrate.Names {
	return pgmigrate.Names{Schema: t.Schema, Table: t.Table}
}

// migrate creates or upgrades the table.
func (t table) migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return t.set().Migrate(ctx, pgmigrate.FromPool(pool), pgmigrate.Options{LockTimeout: t.MigrateLockTimeout})
}

// status returns which migrations were applied.
func (t table) status(ctx context.Context, pool *pgxpool.Pool) (pgmigrate.Status, error) {
	return t.set().Status(ctx, pgmigrate.FromPool(pool))
}

// export returns the migrations as files that other tools run as they are.
func (t table) export() (fs.FS, error) {
	return t.set().Export()
}

func (t table) set() pgmigrate.Set {
	return pgmigrate.Set{Component: t.component, Names: t.names(), FS: pgmigrate.Embedded(t.files)}
}

// pruneChunk is the number of records that one statement of Prune removes.
const pruneChunk = 5000

// execer runs a statement; pgpin.Committed is one.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// pruned runs statement until no expired record is left, and returns the number of records
// removed. The statement removes at most $1 records that have expired, by the database's clock
// and by $2, the process's.
func pruned(ctx context.Context, db execer, statement string) (int64, error) {
	var total int64
	for {
		tag, err := db.Exec(ctx, statement, pruneChunk, clocks.Come())
		if err != nil {
			return total, err
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < pruneChunk {
			return total, nil
		}
	}
}
