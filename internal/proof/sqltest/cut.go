package sqltest

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// Cut selects how a commit is broken.
type Cut int32

// Ways to break a commit.
const (
	CutNever    Cut = iota
	CutBefore       // the database never sees the COMMIT
	CutAfter        // the database has committed, and its answer is lost
	CutDeadlock     // the server rolls back, and answers that it has met a deadlock
)

// ErrCut is returned by a commit that is cut.
var ErrCut = errors.New("sqltest: the connection was cut at its COMMIT")

// ErrDeadlock is a server's answer for CutDeadlock.
var ErrDeadlock = &mysql.MySQLError{Number: 1213, SQLState: [5]byte([]byte("40001")), Message: "Deadlock found"}

// Commits breaks commits on the connections of a Connector. It is safe for concurrent use.
type Commits struct{ next atomic.Int32 }

// Arm arms a cut for the next commit.
func (c *Commits) Arm(cut Cut) { c.next.Store(int32(cut)) }

// Connector returns a connector whose commits c can cut.
func (c *Commits) Connector(to driver.Connector) driver.Connector { return cutConnector{to, c} }

type cutConnector struct {
	driver.Connector

	commits *Commits
}

// Connect implements driver.Connector.
func (c cutConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, commits: c.commits}, nil
}

// cutConn forwards all calls, and wraps transactions.
type cutConn struct {
	driver.Conn

	commits *Commits
	dead    bool
}

// BeginTx implements driver.ConnBeginTx.
func (c *cutConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return cutTx{tx, c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *cutConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *cutConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *cutConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *cutConn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

// ResetSession implements driver.SessionResetter.
func (c *cutConn) ResetSession(ctx context.Context) error {
	if resetter, ok := c.Conn.(driver.SessionResetter); ok && !c.dead {
		return resetter.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *cutConn) IsValid() bool {
	validator, ok := c.Conn.(driver.Validator)
	return !c.dead && (!ok || validator.IsValid())
}

type cutTx struct {
	driver.Tx

	conn *cutConn
}

// Commit implements driver.Tx.
func (t cutTx) Commit() error {
	switch Cut(t.conn.commits.next.Swap(int32(CutNever))) {
	case CutBefore:
		t.conn.dead = true
		return errors.Join(ErrCut, t.Rollback())
	case CutAfter:
		t.conn.dead = true
		return errors.Join(ErrCut, t.Tx.Commit())
	case CutDeadlock:
		if err := t.Rollback(); err != nil {
			return err
		}
		return ErrDeadlock
	default:
		return t.Tx.Commit()
	}
}
