package pgmigrate

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
)

// DB lends a connection. The zero DB lends none and returns an error.
type DB struct {
	lend func(ctx context.Context, use func(*pgx.Conn) error) error
}

// FromPool returns a DB that takes connections from pool. A connection whose session takes no
// writes, though it was asked to, is closed.
func FromPool(pool *pgxpool.Pool) DB { return FromSessions(pgpin.Of(pool)) }

// FromSessions is FromPool for other sessions of the application.
func FromSessions(s pgpin.Sessions) DB {
	return DB{lend: func(ctx context.Context, use func(*pgx.Conn) error) error {
		return s.Use(ctx, func(conn *pgx.Conn) error { return pooled(ctx, conn, use) })
	}}
}

// pooled calls use. A session that is unfit afterwards does not return to its pool.
func pooled(ctx context.Context, conn *pgx.Conn, use func(*pgx.Conn) error) error {
	err := use(conn)
	if pgerr.Unfit(err) {
		_ = conn.Close(ctx)
	}
	return err
}

// FromConn returns a DB that uses conn. The connection must not be in a transaction and must not be
// used by others during a call.
func FromConn(conn *pgx.Conn) DB {
	return DB{lend: func(_ context.Context, use func(*pgx.Conn) error) error { return use(conn) }}
}

// FromSQL is FromPool for a db whose driver must be pgx's.
func FromSQL(db *sql.DB) DB { return FromSessions(pgpin.OfSQL(db)) }

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
