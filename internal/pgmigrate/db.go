package pgmigrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// DB lends a connection. The zero DB lends none and says so.
type DB struct {
	lend func(ctx context.Context, use func(*pgx.Conn) error) error
}

// FromPool returns a DB that takes connections from pool.
func FromPool(pool *pgxpool.Pool) DB {
	return DB{lend: func(ctx context.Context, use func(*pgx.Conn) error) error {
		return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return use(c.Conn()) })
	}}
}

// FromConn returns a DB that uses conn, which must not be in a transaction and
// not be used by others meanwhile.
func FromConn(conn *pgx.Conn) DB {
	return DB{lend: func(_ context.Context, use func(*pgx.Conn) error) error { return use(conn) }}
}

// FromSQL returns a DB that takes connections from db, whose driver must be
// pgx's.
func FromSQL(db *sql.DB) DB {
	return DB{lend: func(ctx context.Context, use func(*pgx.Conn) error) (err error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		return conn.Raw(func(driverConn any) error {
			c, ok := driverConn.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
			}
			return use(c.Conn())
		})
	}}
}

// run lends a connection that is outside any transaction.
func (d DB) run(ctx context.Context, use func(*pgx.Conn) error) error {
	if d.lend == nil {
		return errors.New("leat: no database given")
	}
	return d.lend(ctx, func(conn *pgx.Conn) error {
		if conn.PgConn().TxStatus() != 'I' {
			return errors.New("leat: the connection is inside a transaction, or closed")
		}
		return use(conn)
	})
}
