package pglease

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Line is the connection on which the tasks of one process hold their leases. They share it, and
// it is open while one of them works. A Line is safe for concurrent use.
type Line struct {
	open  func(ctx context.Context) (*pgx.Conn, error)
	close func(ctx context.Context, conn *pgx.Conn)

	mu    sync.Mutex // held for as long as a statement runs
	conn  *pgx.Conn  // nil while nobody works
	tasks int        // that work on conn
}

// NewLine returns a Line whose connection is opened and closed by the two.
func NewLine(open func(ctx context.Context) (*pgx.Conn, error), closeConn func(ctx context.Context, conn *pgx.Conn)) *Line {
	return &Line{open: open, close: closeConn}
}

// join returns the connection for a task that begins. If it was lost, those that were on it have
// lost their leases, and there is another one from now on.
func (l *Line) join(ctx context.Context) (*pgx.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || outlive(ctx, l.conn.Ping) != nil {
		conn, err := l.open(ctx)
		if err != nil {
			return nil, err
		}
		if l.conn != nil {
			l.close(ctx, l.conn)
		}
		l.conn, l.tasks = conn, 0
	}
	l.tasks++
	return l.conn, nil
}

// leave ends the use of conn by a task. Its lock goes with the connection, or before it.
func (l *Line) leave(ctx context.Context, conn *pgx.Conn, unlock func(ctx context.Context) error, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn != l.conn {
		return // it was lost
	}
	if l.tasks--; l.tasks == 0 {
		l.close(ctx, conn)
		l.conn = nil
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := unlock(ctx); err != nil {
		log.WarnContext(ctx, "lock of a lease not given back", slog.Any("error", err))
	}
}

// do runs fn, which uses the connection, in turn with other tasks. It does not begin after ctx
// has ended.
func (l *Line) do(ctx context.Context, fn func(ctx context.Context) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return outlive(ctx, fn)
}

// outlive runs fn with a context that ends a while after ctx: a statement that is cancelled costs
// the connection, and with it the leases of the other tasks.
func outlive(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(giveBackTimeout, cancel) })()
	return fn(patient)
}
