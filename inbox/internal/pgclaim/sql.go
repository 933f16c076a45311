package pgclaim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// sqlHandle is a Handle on database/sql.
type sqlHandle struct {
	full      *fullpool.Pool
	db        *sql.DB
	isolation sql.IsolationLevel
}

// FromSQL returns the Handle of a db, whose driver must be pgx's own.
func FromSQL(db *sql.DB, isolation pgx.TxIsoLevel, log *slog.Logger) (Handle, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	if _, ok := db.Driver().(*stdlib.Driver); !ok {
		return nil, outbox.ConfigError("db", fmt.Sprintf("%T", db.Driver()), "must use pgx's driver, *stdlib.Driver")
	}
	level := map[pgx.TxIsoLevel]sql.IsolationLevel{ // without a level, that of the session applies
		pgx.ReadUncommitted: sql.LevelReadUncommitted, pgx.ReadCommitted: sql.LevelReadCommitted,
		pgx.RepeatableRead: sql.LevelRepeatableRead, pgx.Serializable: sql.LevelSerializable,
	}[isolation]
	return &sqlHandle{full: fullpool.OfSQL(db, log), db: db, isolation: level}, nil
}

// Take implements Handle.
func (h *sqlHandle) Take(ctx context.Context) (Conn, error) {
	conn := &sqlConn{isolation: h.isolation}
	err := h.full.Take(ctx, func(ctx context.Context) (err error) {
		conn.Conn, err = h.db.Conn(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	conn.watch.Begin(h.full, h.db)
	return conn, nil
}

// DB implements Handle.
func (h *sqlHandle) DB() pgmigrate.DB {
	return pgmigrate.FromSQL(h.db)
}

// Full implements Handle.
func (h *sqlHandle) Full() *fullpool.Pool {
	return h.full
}

// sqlConn is a Conn of database/sql.
type sqlConn struct {
	*sql.Conn

	isolation sql.IsolationLevel
	unit      *sqlUnit // opened by Open, nil if none
	watch     fullpool.SQL
}

// Use implements Conn.
func (c *sqlConn) Use(use func(conn *pgx.Conn) error) error {
	return c.Raw(func(driverConn any) error {
		conn, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
		}
		return use(conn.Conn())
	})
}

// Open implements Conn.
func (c *sqlConn) Open(ctx context.Context, claim string, args []any, dest ...any) (driver.Unit, error) {
	return c.begin(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, claim, args...).Scan(scanners(dest)...)
	})
}

// Insert implements Conn.
func (c *sqlConn) Insert(ctx context.Context, claim string, args []any, want int64) (driver.Unit, error) {
	return c.begin(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, claim, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != want {
			return errors.Join(err, sql.ErrNoRows)
		}
		return nil
	})
}

// begin opens a transaction and runs claim in it. They are two round trips: database/sql has no
// pipeline. It would also roll the transaction back when ctx ends, even during the commit; so the
// end of ctx ends only the claim.
func (c *sqlConn) begin(ctx context.Context, claim func(ctx context.Context, tx *sql.Tx) error) (driver.Unit, error) {
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := c.BeginTx(txCtx, &sql.TxOptions{Isolation: c.isolation})
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	c.unit = &sqlUnit{sqlConn: c, tx: tx, cancel: cancel}
	err = claim(txCtx, tx)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.End(ctx))
	}
	return c.unit, nil
}

// scanners lets database/sql scan arrays.
func scanners(dest []any) []any {
	var types *pgtype.Map // created only when needed: too costly for the claim of one message
	for i, d := range dest {
		if array, ok := d.(*[]int64); ok {
			if types == nil {
				types = pgtype.NewMap()
			}
			dest[i] = types.SQLScanner(array)
		}
	}
	return dest
}

// End implements Conn.
func (c *sqlConn) End(context.Context) error {
	unit := c.unit
	if c.unit = nil; unit == nil {
		return nil
	}
	return unit.end()
}

// Release implements Conn.
func (c *sqlConn) Release() error {
	return c.watch.End(c.Close)
}
