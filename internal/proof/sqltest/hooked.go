package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// OpenHooked is OpenMySQL with a function that is called before each statement that is not prepared. If
// the function returns an error, the statement fails with it.
func OpenHooked(tb testing.TB, config *mysql.Config, before func(ctx context.Context, query string) error) *sql.DB {
	tb.Helper()
	inner, err := mysql.NewConnector(config)
	require.NoError(tb, err)
	db := sql.OpenDB(hookedConnector{inner, before})
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

type hookedConnector struct {
	driver.Connector

	before func(ctx context.Context, query string) error
}

// Connect implements driver.Connector.
func (c hookedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return hookedConn{conn.(fullConn), c.before}, nil
}

// fullConn has the methods of a connection of the MySQL driver.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type hookedConn struct {
	fullConn

	before func(ctx context.Context, query string) error
}

// QueryContext implements driver.QueryerContext.
func (c hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.before(ctx, query); err != nil {
		return nil, err
	}
	return c.fullConn.QueryContext(ctx, query, args)
}

// ExecContext implements driver.ExecerContext.
func (c hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.before(ctx, query); err != nil {
		return nil, err
	}
	return c.fullConn.ExecContext(ctx, query, args)
}

// OpenRewritten is OpenMySQL with statements that rewrite changes before the server receives them.
func OpenRewritten(tb testing.TB, config *mysql.Config, rewrite func(query string) string) *sql.DB {
	tb.Helper()
	inner, err := mysql.NewConnector(config)
	require.NoError(tb, err)
	db := sql.OpenDB(rewritten{inner, rewrite})
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

type rewritten struct {
	driver.Connector

	rewrite func(query string) string
}

// Connect implements driver.Connector.
func (c rewritten) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return rewrittenConn{conn.(fullConn), c.rewrite}, nil
}

type rewrittenConn struct {
	fullConn

	rewrite func(query string) string
}

// QueryContext implements driver.QueryerContext.
func (c rewrittenConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.fullConn.QueryContext(ctx, c.rewrite(query), args)
}
