package sqltest

import (
	"context"
	"database/sql/driver"
	"sync"
)

// recorded closes at the end of the test what a pool leaves open: connections that a test has taken and
// abandoned, as in a crash.
type recorded struct {
	driver.Connector

	mu    sync.Mutex
	conns []*recordedConn
}

// Connect implements driver.Connector.
func (r *recorded) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &recordedConn{fullConn: conn.(fullConn)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, c)
	return c, nil
}

func (r *recorded) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close() // most of them are closed already
	}
}

// recordedConn is never closed during a call: when the context of a transaction ends, a goroutine of the
// pool rolls back.
type recordedConn struct {
	fullConn

	mu sync.Mutex
}

// Close implements driver.Conn.
func (c *recordedConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fullConn.Close()
}

// ExecContext implements driver.ExecerContext.
func (c *recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fullConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fullConn.QueryContext(ctx, query, args)
}

// BeginTx implements driver.ConnBeginTx.
func (c *recordedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tx, err := c.fullConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return recordedTx{tx, c}, nil
}

type recordedTx struct {
	tx   driver.Tx
	conn *recordedConn
}

// Commit implements driver.Tx.
func (t recordedTx) Commit() error {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	return t.tx.Commit()
}

// Rollback implements driver.Tx.
func (t recordedTx) Rollback() error {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	return t.tx.Rollback()
}
