package debezium

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// Table is an outbox table of Debezium's. It is safe for concurrent use.
type Table struct {
	pool pgpin.Pool // the application's, with settings of ours
	cfg  Config
	sql  statements
}

// New returns the table that cfg describes. It connects to nothing. Errors wrap
// outbox.ErrInvalidConfig.
func New(pool *pgxpool.Pool, cfg Config) (*Table, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	sql, err := loadStatements()
	return &Table{pool: pgpin.Pool{Sessions: pgpin.Of(pool)}, cfg: cfg, sql: sql}, err
}

// Adopt has each row that is inserted from now on written into leat's outbox, by triggers.
// It waits for the transactions that have written to the table: when it returns, each one
// that did not go through the triggers has ended. Rows that were there before are not
// written: let Debezium send them, see Handoff. It is safe to call again, and does nothing
// else then than to bring the triggers up to cfg.
//
// It needs the role that owns the table and leat's schema, or a superuser. The error wraps
// outbox.ErrInvalidConfig if the table has not got a column or has it with another type, and
// outbox.ErrNotMigrated if the outbox's schema is missing.
func (t *Table) Adopt(ctx context.Context) error {
	script, err := t.Script(ctx)
	if err != nil {
		return err
	}
	return t.exec(ctx, script)
}

// Release removes what Adopt has made. Rows that are inserted from then on are Debezium's
// alone.
func (t *Table) Release(ctx context.Context) error {
	script, err := t.render(t.sql.release, nil)
	if err != nil {
		return err
	}
	return t.exec(ctx, script)
}

// Adopted reports whether the triggers are there.
func (t *Table) Adopted(ctx context.Context) (adopted bool, err error) {
	err = t.pool.QueryRow(ctx, t.sql.adopted, t.cfg.table().Qualified("")).Scan(&adopted)
	return adopted, err
}

// Script returns the SQL that Adopt runs, for those who keep all of their migrations in one
// tool. It is to be run in one transaction. It depends on the types of the columns, which it
// looks up.
func (t *Table) Script(ctx context.Context) (string, error) {
	types, err := t.types(ctx)
	if err != nil {
		return "", err
	}
	return t.render(t.sql.adopt, types)
}

// exec runs script in a transaction of its own.
func (t *Table) exec(ctx context.Context, script string) error {
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		timeout := strconv.FormatInt(t.cfg.LockTimeout.Milliseconds(), 10)
		if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", timeout); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	return describe(err)
}

// types returns the types of the table's columns, and refuses a table that is not what
// Config says.
func (t *Table) types(ctx context.Context) (map[string]string, error) {
	rows, err := t.pool.Query(ctx, t.sql.columns, t.cfg.table().Qualified(""))
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error { types[name] = kind; return nil })
	if err != nil {
		return nil, err
	}
	if len(types) == 0 {
		return nil, outbox.ConfigError("Table", t.cfg.table().Qualified(""), "does not exist")
	}
	columns := t.cfg.columns()
	for _, field := range slices.Sorted(maps.Keys(columns)) {
		kind, ok := types[columns[field]]
		switch {
		case !ok:
			return nil, outbox.ConfigError(field, strconv.Quote(columns[field]), "is no column of "+t.cfg.table().Qualified(""))
		case field == "TimeColumn" && !strings.HasPrefix(kind, "timestamp"):
			return nil, outbox.ConfigError(field, strconv.Quote(columns[field]), fmt.Sprintf("is of type %s, and no timestamp", kind))
		}
	}
	return types, nil
}
