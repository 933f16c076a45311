package pgoutbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

const (
	// selfTestWait is how long a notification that we sent ourselves may be under
	// way.
	selfTestWait = 2 * time.Second
	// quietWait is how long a listener believes a connection on which nothing
	// happens, before it asks whether it is still there.
	quietWait = 30 * time.Second
)

var (
	// errSwallowed is the error of a listener whose notification did not come back to its sender.
	errSwallowed = errors.New("leat: a notification was swallowed by the pooler that stands before the database: it is in transaction mode, or something like it")
	// errLate is the same where there is no pooler.
	errLate = errors.New("leat: a notification did not come back in time")
)

// listener hears the notifications of other processes for the sessions of one source:
// one connection and one goroutine, while any session runs and anybody has asked
// for Wakes. The zero listener is ready.
type listener struct {
	bell bell        // rung by what is heard
	deaf atomic.Bool // a self-test has shown that it is no use

	mu       sync.Mutex
	sessions int
	wakes    int                // subscriptions that have not ended
	cancel   context.CancelFunc // nil unless the goroutine is to run
	ended    chan struct{}      // nil unless there may be a goroutine
}

// subscribe has c hear what others announce until ctx ends.
func (e *listener) subscribe(ctx context.Context, c chan struct{}) {
	e.bell.join(ctx, c)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wakes++
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.wakes--
		if e.wakes == 0 {
			e.stop()
		}
	})
}

// stop tells the goroutine to end. The caller holds e.mu.
func (e *listener) stop() {
	if e.cancel != nil {
		e.cancel()
		e.cancel = nil
	}
}

// wait waits for the goroutine that was told to end. The caller holds e.mu.
func (e *listener) wait() {
	if e.ended != nil {
		<-e.ended
		e.ended = nil
	}
}

// attend begins to listen for one more session.
func (s *source) attend(ctx context.Context) {
	e := &s.listener
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions++
	if e.cancel != nil || e.wakes == 0 || e.deaf.Load() || s.cfg.NoListen {
		return
	}
	e.wait()
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	e.ended = ended
	go func() {
		defer close(ended)
		s.hear(ctx)
	}()
}

// leave undoes attend. After the last session nothing of it is left.
func (s *source) leave() {
	e := &s.listener
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions--
	if e.sessions == 0 {
		e.stop()
		e.wait()
	}
}

// hear listens until ctx ends, connecting again after errors, or until it turns
// out that notifications do not come through. Everything works without it.
func (s *source) hear(ctx context.Context) {
	retry := retryWait{}
	for ctx.Err() == nil {
		err := s.hearOnce(ctx, &retry)
		if ctx.Err() != nil {
			return
		}
		log := s.ob.cfg.Logger.With(slog.String("group", s.cfg.Group), slog.Any("error", err))
		if errors.Is(err, errSwallowed) {
			log.WarnContext(ctx, "commits of other processes are found by polling only: connect the relay directly, or set SourceConfig.NoListen")
			s.listener.deaf.Store(true)
			return
		}
		log.WarnContext(ctx, "commits of other processes are found by polling until a connection listens again")
		_ = wait.For(ctx, retry.next())
	}
}

// hearOnce listens on a new connection until the first error.
func (s *source) hearOnce(ctx context.Context, retry *retryWait) error {
	c, err := s.ob.connectAs(ctx, "leat listen "+s.cfg.Group)
	if err != nil {
		return err
	}
	defer pglog.Close(ctx, c.Conn)
	err = s.selfTest(ctx, c.Conn)
	if errors.Is(err, errSwallowed) && c.direct {
		err = errLate
	}
	if err != nil {
		return err
	}
	if err := listen(ctx, c.Conn, channel(s.ob.cfg.Schema, s.ob.cfg.Table)); err != nil {
		return err
	}
	retry.reset()
	for {
		s.listener.bell.ring() // for what was announced before we listened, too
		if err := await(ctx, c.Conn); err != nil {
			return err
		}
	}
}

// await waits for a notification on conn.
func await(ctx context.Context, conn *pgx.Conn) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, quietWait)
		_, err := conn.WaitForNotification(quiet)
		silent := quiet.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil || !silent {
			return err
		}
		if err := ping(ctx, conn); err != nil {
			return err
		}
	}
}

// ping asks whether anybody answers on conn.
func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestWait)
	defer cancel()
	return conn.Ping(ctx)
}

// selfTest listens on a channel that nobody else uses and sends a notification
// there; what a pooler keeps of that is of no account. It must be sent on another connection: on its own, a pooler in
// transaction mode would bring it back, with the answer to the very statement.
func (s *source) selfTest(ctx context.Context, conn *pgx.Conn) error {
	id, err := ids.New()
	if err != nil {
		return err
	}
	name := "leat/test/" + id
	if err := listen(ctx, conn, name); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, selfTestWait)
	defer cancel()
	if err := notify(wait, s.ob.pool, name); err != nil {
		return err
	}
	if _, err := conn.WaitForNotification(wait); err != nil {
		if wait.Err() != nil && ctx.Err() == nil {
			return errSwallowed
		}
		return err
	}
	_, err = conn.Exec(ctx, "UNLISTEN "+pgx.Identifier{name}.Sanitize())
	return err
}
