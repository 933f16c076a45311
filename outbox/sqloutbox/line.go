package sqloutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// line is a connection of the pool that one session uses with settings of its own. One
// caller at a time.
type line struct {
	mu   sync.Mutex
	conn *sql.Conn
}

var errLineClosed = errors.New("leat: the session has ended")

// open takes a connection and makes it see each commit at once, whatever the pool's
// connections are told to do otherwise: a statement is a transaction, and waits for locks
// no longer than a moment.
func (l *line) open(ctx context.Context, o *Outbox) error {
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return err
	}
	l.conn = conn
	if o.dialect.OneWriter {
		return nil
	}
	for _, name := range []string{"set_autocommit", "set_isolation", "set_lock_wait"} {
		if _, err := conn.ExecContext(ctx, o.sql[name]); err != nil {
			return err
		}
	}
	return nil
}

// use calls f with the connection.
func (l *line) use(ctx context.Context, f func(conn *sql.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return errLineClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(l.conn)
}

// close closes the connection for good, so that the pool does not inherit its settings.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return
	}
	_ = l.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.conn.Close()
	l.conn = nil
}
