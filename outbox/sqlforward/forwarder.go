package sqlforward

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/internal/sqlmigrate"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//go:embed migrations
var migrationFiles embed.FS

//go:embed sql/*.sql
var sqlFiles embed.FS

// neededSchema is the oldest version of the schema that this version of the library works
// with.
const neededSchema = 1

// Forwarder moves messages of one forwarder's table into an outbox. Make one and keep it.
// Any number of processes may run one over the same table: they take turns.
type Forwarder struct {
	db      *sql.DB
	ob      *sqloutbox.Outbox
	dialect sqldialect.Dialect
	cfg     Config
	sql     map[string]string
	running atomic.Bool

	// What follows belongs to the one running call.

	checked bool      // whether it was checked that the forwarder was not put back
	looked  time.Time // when gaps were last checked
	next    int64     // the number at which that check continues
	warned  bool      // it was logged that there are many
	counted time.Time // when the table's counter was last read
	highest int64     // its number then

	told atomic.Bool // it was logged that it is unknown whether the server is a replica
}

// New returns the Forwarder over a table in the database of db, which must be the outbox's as
// well. It returns an error that wraps outbox.ErrInvalidConfig if db or ob is nil, the dialect is
// neither MySQL nor MariaDB, or cfg is invalid. It connects to nothing: call Migrate once, for
// example at start-up.
//
// While it runs, it holds a connection of the pool, which it closes at the end. It needs SELECT
// and UPDATE on the forwarder's table, with Queue DELETE instead of UPDATE unless KeepAcked is
// set; SELECT, INSERT and UPDATE on that of its offsets; SELECT, INSERT, UPDATE and DELETE on its
// own; and what a producer of the outbox needs. It never updates rows of the default schema:
// MySQL requires UPDATE to check for locks on them.
func New(db *sql.DB, dialect outbox.Dialect, ob *sqloutbox.Outbox, cfg Config) (*Forwarder, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	if ob == nil {
		return nil, outbox.ConfigError("ob", nil, "must be an outbox")
	}
	if dialect != outbox.MySQL && dialect != outbox.MariaDB {
		return nil, outbox.ConfigError("dialect", string(dialect), "must be mysql or mariadb")
	}
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	f := &Forwarder{db: db, ob: ob, dialect: d, cfg: cfg}
	f.sql, err = sqlfile.LoadAll(sqlFiles, f.render,
		"position_new", "position_lock", "position_load", "position_store", "position_forget",
		"page_new", "page_missing", "mark_look", "mark_store", "counter", "row_acked", "row_deleted", "gap_look", "malformed",
		"offset_new", "offset_lock", "offset_store", "offset_others", "columns", "increment", "queue_start", "repeats", "lock_wait")
	return f, err
}

// render fills in the names of tables, and the schema's addition to a condition.
func (f *Forwarder) render(text string) (string, error) {
	unacked := ""
	if f.cfg.Queue {
		unacked = "AND acked = FALSE"
	}
	text = strings.NewReplacer(
		"@{messages}", "`"+f.cfg.Table+"`",
		"@{offsets}", "`"+f.cfg.OffsetsTable+"`",
		"@{unacked}", unacked,
	).Replace(text)
	return f.dialect.Render(f.cfg.StateTable, text)
}

// Migrate creates the Forwarders' own tables. It never changes the forwarder's. Several processes
// may call it at once. It does nothing if everything is in place.
func (f *Forwarder) Migrate(ctx context.Context) error { return f.migrations().Migrate(ctx, f.db) }

func (f *Forwarder) migrations() sqlmigrate.Set {
	return sqlmigrate.Set{Component: "forward", Dialect: f.dialect, Table: f.cfg.StateTable, FS: migrationFiles}
}

// Check refuses own tables that are missing or too old (outbox.ErrNotMigrated), a forwarder's
// table that is missing or of another schema, a server whose auto_increment_increment is not 1, a
// connection that reaches several servers (a read/write splitter), and a server that applies what
// another one has written.
func (f *Forwarder) Check(ctx context.Context) error {
	if err := f.checkPrimary(ctx); err != nil {
		return err
	}
	err := f.migrations().Require(ctx, f.db, neededSchema)
	if errors.Is(err, sqlmigrate.ErrBehind) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	if err != nil {
		return err
	}
	var columns, acked int
	if err := f.db.QueryRowContext(ctx, f.sql["columns"], f.cfg.Table).Scan(&columns, &acked); err != nil {
		return describe(err)
	}
	if columns == 0 {
		return fmt.Errorf("%w: table %s does not exist: check its name", outbox.ErrNotMigrated, f.cfg.Table)
	}
	if acked > 0 != f.cfg.Queue {
		return fmt.Errorf("%w: table %s has %d columns called acked", errWrongSchema, f.cfg.Table, acked)
	}
	var increment int
	if err := f.db.QueryRowContext(ctx, f.sql["increment"]).Scan(&increment); err != nil {
		return err
	}
	if increment != 1 {
		return &sqlstore.SetupError{What: "auto_increment_increment", Value: increment, Rule: "must be 1: most numbers would be missing"}
	}
	return nil
}

// checkPrimary refuses a server that is not the only one that is written to. If that cannot be
// found out, it logs so once.
func (f *Forwarder) checkPrimary(ctx context.Context) error {
	err := sqlstore.CheckPrimary(ctx, f.db, f.dialect)
	if errors.Is(err, sqlstore.ErrReplicaUnknown) {
		if !f.told.Swap(true) {
			f.cfg.Logger.WarnContext(ctx, "forwarding is not kept from a replica that can be written", slog.Any("error", err))
		}
		return nil
	}
	return err
}
