package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Conn is a connection that is taken out of the pool for one user, with its own settings. It is for
// one caller at a time. The zero value is closed.
type Conn struct {
	mu   sync.Mutex
	conn *sql.Conn
}

// ErrConnClosed is returned by Use if the connection is closed.
var ErrConnClosed = errors.New("leat: the session has ended")

// SetUp makes a session of MySQL or MariaDB see each commit at once, whatever the settings of the
// server or the pool are. Each statement is a transaction, has no time limit, and returns all of
// its rows. The session may be idle for hours. It must not go back to the pool.
func SetUp(ctx context.Context, conn *sql.Conn, dialect sqldialect.Name) error {
	names := []string{"set_session", "set_isolation", "set_statement_time_" + string(dialect)}
	statements, err := sqlfile.LoadAll(ownFiles, func(sql string) (string, error) { return sql, nil }, names...)
	for _, name := range names {
		if err == nil {
			_, err = conn.ExecContext(ctx, statements[name])
		}
	}
	return err
}

// Open takes a connection and sets it up. A statement waits for locks only for a moment. Call Close
// even after an error.
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
	if err := SetUp(ctx, conn, s.Dialect.Name); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, s.SQL["set_lock_wait"])
	return err
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

// Gone returns an error if the connection, which is not in use, has ended. It sends nothing, and
// needs a driver that looks at a connection before it is used again.
func (c *Conn) Gone() error {
	if !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	if c.conn == nil {
		return ErrConnClosed
	}
	return c.conn.Raw(func(conn any) error {
		if v, ok := conn.(driver.Validator); ok && !v.IsValid() {
			return driver.ErrBadConn
		}
		if r, ok := conn.(driver.SessionResetter); ok {
			return r.ResetSession(context.Background())
		}
		return nil
	})
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
