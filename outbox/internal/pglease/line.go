package pglease

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Line is the connection on which the tasks of one process hold their leases, and which also
// listens for notifications. It is shared, and open while one of its users works. A Line is safe
// for concurrent use.
type Line struct {
	open  func(ctx context.Context) (*pgx.Conn, error)
	close func(ctx context.Context, conn *pgx.Conn)

	mu        sync.Mutex
	free      sync.Cond          // signalled when the connection is free
	inUse     bool               // guards what follows below
	wanted    int                // tasks that wait for it
	interrupt context.CancelFunc // ends Listen; nil if Listen is not running

	conn  *pgx.Conn // nil while no task works
	tasks int       // tasks that work on conn
}

// NewLine returns a Line whose connection is opened and closed by the two functions.
func NewLine(open func(ctx context.Context) (*pgx.Conn, error), closeConn func(ctx context.Context, conn *pgx.Conn)) *Line {
	l := &Line{open: open, close: closeConn}
	l.free.L = &l.mu
	return l
}

// take waits until the connection is free. A running Listen ends at once.
func (l *Line) take() (giveBack func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted++
	if l.interrupt != nil {
		l.interrupt()
	}
	for l.inUse {
		l.free.Wait()
	}
	l.wanted--
	l.inUse = true
	return l.giveBack
}

func (l *Line) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse, l.interrupt = false, nil
	l.free.Broadcast()
}

// Join returns the connection for a task that begins. If the connection was lost, the tasks on it
// have lost their leases, and a new one is opened.
func (l *Line) Join(ctx context.Context) (*pgx.Conn, error) {
	defer l.take()()
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

// Leave ends the use of conn by a task. What the task holds is released with the connection, or
// by undo before.
func (l *Line) Leave(ctx context.Context, conn *pgx.Conn, undo func(ctx context.Context) error, log *slog.Logger) {
	defer l.take()()
	if conn != l.conn {
		return // conn was lost before
	}
	if l.tasks--; l.tasks == 0 {
		l.close(ctx, conn)
		l.conn = nil
		return
	}
	if conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := undo(ctx); err != nil {
		log.WarnContext(ctx, "not given back on a connection that is shared", slog.Any("error", err))
	}
}

// Do runs fn, which uses the connection, in turn with other tasks. It does not start fn after ctx
// has ended.
func (l *Line) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	defer l.take()()
	return outlive(ctx, fn)
}

// Listen runs wait, which uses the connection, until another task needs it: then the context of wait ends.
func (l *Line) Listen(ctx context.Context, wait func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	for l.inUse || l.wanted > 0 {
		l.free.Wait()
	}
	l.inUse, l.interrupt = true, cancel
	l.mu.Unlock()
	defer l.giveBack()
	return wait(ctx)
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
