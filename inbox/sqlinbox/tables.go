package sqlinbox

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// tables is an inbox's place in a database, with the statements on it by their names.
// {list}, {where} and {order} in one stand for what a call puts there.
type tables struct {
	db      *sql.DB
	dialect sqldialect.Dialect
	name    string
	sql     map[string]string

	checked checked
}

func newTables(db *sql.DB, dialect Dialect, cfg Config) (*tables, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	t, err := renderTables(dialect, cfg)
	if err == nil {
		t.db = db
	}
	return t, err
}

// renderTables is for what needs no database.
func renderTables(dialect Dialect, cfg Config) (*tables, error) {
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	if err := cfg.validate(d); err != nil {
		return nil, err
	}
	files, err := fs.Glob(statementFiles, "sql/*.sql")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".sql")
	}
	t := &tables{dialect: d, name: cfg.Table, checked: checked{turn: make(chan struct{}, 1)}}
	t.sql, err = sqlfile.LoadAll(statementFiles, func(sql string) (string, error) { return d.Render(cfg.Table, sql) }, names...)
	return t, err
}

// list returns a statement with as many parameters in its list.
func (t *tables) list(name string, n int) string {
	return strings.Replace(t.sql[name], "{list}", sqldialect.Places(n), 1)
}

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// exec returns how many rows a statement has written.
func (t *tables) exec(ctx context.Context, q querier, name string, args ...any) (int64, error) {
	return written(ctx, q, t.sql[name], args...)
}

func written(ctx context.Context, q querier, statement string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls use for the rows of a query.
func each(ctx context.Context, q querier, use func(scan func(dest ...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := use(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// within runs work in a transaction of its own and commits it if work returns nil. Each
// statement sees what is committed when it begins, and locks no more than it finds.
func (t *tables) within(ctx context.Context, work func(tx *sql.Tx) error) error {
	tx, err := t.db.BeginTx(ctx, t.options(sql.LevelReadCommitted))
	if err != nil {
		return t.describe(err)
	}
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	if err := work(tx); err != nil {
		return t.describe(err)
	}
	return tx.Commit()
}

// options are those of a transaction. SQLite knows no levels.
func (t *tables) options(level sql.IsolationLevel) *sql.TxOptions {
	if t.dialect.OneWriter {
		level = sql.LevelDefault
	}
	return &sql.TxOptions{Isolation: level}
}
