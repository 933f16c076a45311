package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// Conn is a connection of the pool that one user has, with settings of its own. One caller
// at a time. The zero value is closed.
type Conn struct {
	mu   sync.Mutex
	conn *sql.Conn
}

// ErrConnClosed is returned by Use if the connection is closed.
var ErrConnClosed = errors.New("leat: the session has ended")

// Open takes a connection and makes it see each commit at once, whatever the pool's
// connections are told to do otherwise: a statement is a transaction, and waits for locks
// no longer than a moment. Close it also after an error.
func (c *Conn) Open(ctx context.Context, s *Store) error {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return err
	}
	c.conn = conn
	if s.Dialect.OneWriter {
		_, err := conn.ExecContext(ctx, "PRAGMA read_uncommitted = 0")
		return err
	}
	for _, name := range []string{"set_autocommit", "set_isolation", "set_lock_wait"} {
		if _, err := conn.ExecContext(ctx, s.SQL[name]); err != nil {
			return err
		}
	}
	return nil
}

// Use calls f with the connection.
func (c *Conn) Use(ctx context.Context, f func(conn *sql.Conn) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ErrConnClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(c.conn)
}

// IsOpen reports whether the connection was opened and not closed.
func (c *Conn) IsOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil
}

// Close closes the connection for good, so that the pool does not inherit its settings.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return
	}
	Discard(c.conn)
	_ = c.conn.Close()
	c.conn = nil
}
