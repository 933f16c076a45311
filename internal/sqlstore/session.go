package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/leat-go/leat/internal/sqldialect"
)

// Begin begins a transaction on its own connection, which the caller closes after it. txCtx is the
// context of the transaction, ctx that of the wait for a connection. A connection that has broken
// in the pool is skipped, as sql.DB does.
func (s *Store) Begin(ctx, txCtx context.Context, opts *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	return begin(ctx, txCtx, s.DB, opts)
}

// brokenConns is how many connections of a pool may have broken while it was idle.
const brokenConns = 10

func begin(ctx, txCtx context.Context, db *sql.DB, opts *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	for try := 1; ; try++ {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		tx, err := conn.BeginTx(txCtx, opts)
		if err == nil {
			return conn, tx, nil
		}
		if Unfit(err) { // SQLite refuses to begin what it may not write
			Discard(conn)
		}
		_ = conn.Close()
		if try == brokenConns || !errors.Is(err, driver.ErrBadConn) {
			return nil, nil, err
		}
	}
}

// Discard closes a connection for good, so that the pool does not hand it out again. The server
// rolls back what is open on it.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// use calls f with a connection of the pool, and again with another one if it is broken. If f finds
// refused settings, the connection is closed: the next one may be set differently.
func (s *Store) use(ctx context.Context, f func(conn *sql.Conn) error) error {
	for try := 1; ; try++ {
		conn, err := s.DB.Conn(ctx)
		if err != nil {
			return err
		}
		err = f(conn)
		if Unfit(err) {
			Discard(conn)
		}
		_ = conn.Close()
		if try == brokenConns || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// Unfit reports whether err is about the session: its settings are refused, or it takes no writes.
// Discard such a session. The pool would hand it out again and again, and sooner than others, since
// it is free as soon as it has been refused.
func Unfit(err error) bool {
	if setup, ok := errors.AsType[*SetupError](err); ok {
		return setup.OfSession
	}
	return sqldialect.ReadOnly(err)
}

// Transact runs work in a transaction of db and commits it if work returns nil. A session
// that is unfit for it is discarded.
func Transact(ctx context.Context, db *sql.DB, opts *sql.TxOptions, work func(tx *sql.Tx) error) error {
	return onTx(ctx, db, opts, func(tx *sql.Tx) error {
		if err := work(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// onTx is Transact for work that commits by itself, if at all.
func onTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, work func(tx *sql.Tx) error) error {
	conn, tx, err := begin(ctx, ctx, db, opts)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer func() { _ = tx.Rollback() }() // has ended already if it was committed
	err = work(tx)
	if Unfit(err) {
		_ = tx.Rollback() // until then, tx has the connection
		Discard(conn)
	}
	return err
}

// Query runs one query whose result, or lack of one, decides something. It reads only committed
// rows, whatever the settings of the session are, and whether or not its autocommit is on. On
// SQLite it uses no transaction: some drivers take the writer's lock even for one that only reads.
func (s *Store) Query(ctx context.Context, query func(q Querier) error) error {
	if !s.Dialect.OneWriter {
		return s.Look(ctx, query)
	}
	return s.Describe(s.use(ctx, func(conn *sql.Conn) error {
		if err := refuse(ctx, conn, Needs{}, readsUncommitted()); err != nil {
			return err
		}
		return query(conn)
	}))
}

// QueryEach is Query that calls f for each row, as Each does.
func (s *Store) QueryEach(ctx context.Context, f func(scan Scanner) error, query string, args ...any) error {
	return s.Query(ctx, func(q Querier) error { return Each(ctx, q, f, query, args...) })
}
