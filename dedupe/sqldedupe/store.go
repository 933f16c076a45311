package sqldedupe

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/internal/sqlmigrate"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

//go:embed migrations
var migrationFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// Store keeps dedupe records in a table. It is safe for concurrent use, owns no goroutines
// and needs no Close; the pool is the caller's.
type Store struct {
	db      *sql.DB
	dialect sqldialect.Dialect
	cfg     Config
	sql     map[string]string
}

var _ dedupe.Store = (*Store)(nil)

// New returns a Store in the database of db. It does not connect: call Migrate once, for
// example at start-up. Errors wrap outbox.ErrInvalidConfig.
//
// Transactions of SQLite must take the lock when they begin: with modernc.org/sqlite, by
// _txlock=immediate.
func New(db *sql.DB, dialect outbox.Dialect, cfg Config) (*Store, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Store{db: db, dialect: d, cfg: cfg}
	render := func(text string) (string, error) { return d.Render(cfg.Table, text) }
	s.sql, err = sqlfile.LoadAll(sqlFiles, render, "lock_"+d.Folder, "load", "store", "prune", "prune_bound")
	return s, err
}

// Migrate creates or upgrades the table. Many processes may call it at once. It does
// nothing if everything is in place.
func (s *Store) Migrate(ctx context.Context) error {
	if s.dialect.OneWriter {
		if err := sqlstore.CheckPlace(ctx, s.db); err != nil {
			return err
		}
	}
	return s.migrations().Migrate(ctx, s.db)
}

// SchemaStatus looks at the schema and changes nothing.
func (s *Store) SchemaStatus(ctx context.Context) (status admin.SchemaStatus, err error) {
	if status.Latest, err = s.migrations().Latest(); err != nil {
		return admin.SchemaStatus{}, err
	}
	status.Current, err = s.migrations().Current(ctx, s.db)
	return status, err
}

func (s *Store) migrations() sqlmigrate.Set {
	return sqlmigrate.Set{Component: "dedupe", Dialect: s.dialect, Table: s.cfg.Table, FS: migrationFiles}
}

// Migrations returns the schema for a dialect and cfg as files by name, such as
// "00001_init.sql", for teams that keep all their migrations in one tool. Only Table of cfg
// matters.
func Migrations(dialect outbox.Dialect, cfg Config) (map[string]string, error) {
	s, err := New(&sql.DB{}, dialect, cfg)
	if err != nil {
		return nil, err
	}
	return s.migrations().Export()
}

// Claim implements dedupe.Store.
func (s *Store) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (c dedupe.Claim, err error) {
	if req.Token == "" || req.Lease < time.Millisecond {
		return c, fmt.Errorf("%w: token %q, lease %s", dedupe.ErrInvalidKey, req.Token, req.Lease)
	}
	err = s.step(ctx, "claim", key, func(r *records.Record, now time.Time) (changed bool) {
		c, changed = r.Claim(req, now, s.cfg.TTL)
		return changed
	})
	return c, err
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	held := false
	err := s.step(ctx, "extend", key, func(r *records.Record, now time.Time) bool {
		held = r.Extend(token, lease, now, s.cfg.TTL)
		return held
	})
	if err == nil && !held {
		return dedupe.ErrFenced
	}
	return err
}

// Complete implements dedupe.Store.
func (s *Store) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (c dedupe.Completion, err error) {
	err = s.step(ctx, "complete", key, func(r *records.Record, now time.Time) (changed bool) {
		c, changed = r.Complete(token, result, now, s.cfg.TTL)
		return changed
	})
	return c, err
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	return s.step(ctx, "release", key, func(r *records.Record, now time.Time) bool {
		return r.Release(token, now, s.cfg.TTL)
	})
}

// pruneChunk is how many records one transaction removes.
const pruneChunk = 1000

// Prune removes the records that have expired, in chunks, and returns their number. It can
// run at any time and in many processes at once; once an hour is plenty.
func (s *Store) Prune(ctx context.Context) (removed int64, err error) {
	for {
		var n int64
		err := s.retried(ctx, "prune", func(tx *sql.Tx) error {
			var bound sql.NullInt64
			if err := tx.QueryRowContext(ctx, s.sql["prune_bound"], clocks.Come().UnixMicro(), pruneChunk).Scan(&bound); err != nil || !bound.Valid {
				return err
			}
			result, err := tx.ExecContext(ctx, s.sql["prune"], bound.Int64)
			if err == nil {
				n, err = result.RowsAffected()
			}
			return err
		})
		removed += n
		if err != nil || n < pruneChunk {
			return removed, err
		}
	}
}
