package pgoutbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

const (
	// selfTestWait is how long a notification that we sent ourselves may take.
	selfTestWait = 2 * time.Second
	// quietWait is how long a listener trusts a silent connection before it checks whether it is
	// still alive.
	quietWait = 30 * time.Second
)

var (
	// errSwallowed is the error of a listener whose notification did not come back to its sender.
	errSwallowed = errors.New("leat: a notification was swallowed by the pooler that stands before the database: it is in transaction mode, or something like it")
	// errLate is the same if there is no pooler.
	errLate = errors.New("leat: a notification did not come back in time")
)

// listener receives the announcements of other processes for a source, while any session runs and
// Wakes has been called. The zero listener is ready.
type listener struct {
	bell bell // rung by announcements

	mu        sync.Mutex
	sessions  int
	wakes     int // subscriptions that have not ended
	listening bool
}

// subscribe sends the announcements of others to c until ctx ends.
func (s *source) subscribe(ctx context.Context, c chan struct{}) {
	e := &s.listener
	e.bell.join(ctx, c)
	s.change(ctx, func() { e.wakes++ })
	context.AfterFunc(ctx, func() { s.change(ctx, func() { e.wakes-- }) })
}

// attend starts listening for one more session.
func (s *source) attend(ctx context.Context) { s.change(ctx, func() { s.listener.sessions++ }) }

// leave undoes attend. After the last session of all sources on the pool everything is released.
func (s *source) leave(ctx context.Context) { s.change(ctx, func() { s.listener.sessions-- }) }

// change starts or stops listening, as needed after count. Listening needs a session and a
// subscriber.
func (s *source) change(ctx context.Context, count func()) {
	e := &s.listener
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.sessions
	count()
	needed := e.sessions > 0 && e.wakes > 0 && !s.cfg.NoListen
	switch {
	case !e.listening && needed && e.sessions > before:
		e.listening = true
		s.ob.shared.ears.join(ctx, s)
	case e.listening && !needed:
		e.listening = false
		s.ob.shared.ears.leave(s)
	}
}

// ears receive the notifications of other processes for the sources on one pool, on one line and
// in one goroutine, while there is any such source. The zero value is ready.
type ears struct {
	deaf atomic.Bool // a self-test has shown that it does not work

	mu      sync.Mutex
	sources map[*source]struct{}
	cancel  context.CancelFunc // nil unless the goroutine should run
	ended   chan struct{}      // nil unless there may be a goroutine
	nudge   context.CancelFunc // ends a wait, so that sources are read again; nil while there is no wait
	changed bool               // sources have changed since they were last read
}

func (e *ears) join(ctx context.Context, s *source) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deaf.Load() {
		return
	}
	if e.sources == nil {
		e.sources = map[*source]struct{}{}
	}
	e.sources[s] = struct{}{}
	if e.cancel != nil {
		e.look()
		return
	}
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	e.ended = ended
	go func() {
		defer close(ended)
		e.hear(ctx, s)
	}()
}

func (e *ears) leave(s *source) {
	e.mu.Lock()
	delete(e.sources, s)
	var ended chan struct{}
	if len(e.sources) > 0 {
		e.look()
	} else if e.cancel != nil {
		e.cancel()
		ended, e.cancel, e.ended = e.ended, nil, nil
	}
	e.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// look makes the goroutine read the sources again. The caller holds e.mu.
func (e *ears) look() {
	e.changed = true
	if e.nudge != nil {
		e.nudge()
	}
}

// waits records how to end a wait, nil after it. It reports false if there is no time to wait:
// sources have changed.
func (e *ears) waits(nudge context.CancelFunc) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nudge = nudge
	return !e.changed
}

// byChannel returns the sources, by their channels.
func (e *ears) byChannel() map[string][]*source {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed = false
	all := make(map[string][]*source, len(e.sources))
	for s := range e.sources {
		name := channel(s.ob.cfg.Schema, s.ob.cfg.Table)
		all[name] = append(all[name], s)
	}
	return all
}

// hear listens until ctx ends, connecting again after errors as by does, or until it turns out
// that notifications do not arrive. Everything works without it.
func (e *ears) hear(ctx context.Context, by *source) {
	retry := retryWait{}
	for ctx.Err() == nil {
		err := e.hearOnce(ctx, by, &retry)
		if ctx.Err() != nil {
			return
		}
		log := by.ob.cfg.Logger.With(slog.Any("error", err))
		if errors.Is(err, errSwallowed) {
			log.WarnContext(ctx, "commits of other processes are found by polling only: connect the relay directly, or tell it not to listen")
			e.deaf.Store(true)
			return
		}
		log.WarnContext(ctx, "commits of other processes are found by polling until a connection listens again")
		_ = wait.For(ctx, retry.next())
	}
}

// hearOnce listens on the line that maintenance also uses, until the first error.
func (e *ears) hearOnce(ctx context.Context, by *source, retry *retryWait) error {
	line := by.ob.shared.line
	conn, err := line.Join(ctx)
	if err != nil {
		return err
	}
	defer line.Leave(ctx, conn, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "UNLISTEN *")
		return err
	}, by.ob.cfg.Logger)
	err = line.Do(ctx, func(ctx context.Context) error { return selfTest(ctx, by.ob.pool, conn) })
	if errors.Is(err, errSwallowed) && !by.ob.pooled.Load() {
		err = errLate
	}
	if err != nil {
		return err
	}
	heard := map[string][]*source{}
	for {
		now := e.byChannel()
		if err := line.Do(ctx, func(ctx context.Context) error { return tune(ctx, conn, heard, now) }); err != nil {
			return err
		}
		heard = now
		retry.reset()
		if err := e.await(ctx, line, conn, heard); err != nil {
			return err
		}
	}
}

// tune listens on the channels of now instead of those of before, and rings for what was
// announced before we listened.
func tune(ctx context.Context, conn *pgx.Conn, before, now map[string][]*source) error {
	for name := range before {
		if _, ok := now[name]; !ok {
			if _, err := conn.Exec(ctx, "UNLISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
				return err
			}
		}
	}
	for name, sources := range now {
		known, ok := before[name]
		if !ok {
			if err := listen(ctx, conn, name); err != nil {
				return err
			}
		}
		for _, s := range sources {
			if !slices.Contains(known, s) {
				s.listener.bell.ring()
			}
		}
	}
	return nil
}

// await rings for notifications on conn until the sources have changed.
func (e *ears) await(ctx context.Context, line *pglease.Line, conn *pgx.Conn, heard map[string][]*source) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, quietWait)
		var n *pgconn.Notification
		var err error
		if e.waits(cancel) {
			n, err = hearNext(quiet, line, conn)
		}
		unchanged := e.waits(nil)
		silent := errors.Is(quiet.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case n != nil:
			for _, s := range heard[n.Channel] {
				s.listener.bell.ring()
			}
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case unchanged && silent:
			if err := line.Do(ctx, func(ctx context.Context) error { return ping(ctx, conn) }); err != nil {
				return err
			}
		}
		if !unchanged {
			return nil
		}
	}
}

// hearNext returns the next notification, or nothing if ctx has ended or a task needs the line.
func hearNext(ctx context.Context, line *pglease.Line, conn *pgx.Conn) (n *pgconn.Notification, err error) {
	err = line.Listen(ctx, func(ctx context.Context) (err error) {
		n, err = conn.WaitForNotification(ctx)
		if ctx.Err() != nil && !conn.IsClosed() {
			return nil
		}
		return err
	})
	return n, err
}

// ping checks whether the server answers on conn.
func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestWait)
	defer cancel()
	return conn.Ping(ctx)
}

// selfTest listens on a unique channel and sends a notification there; it does not matter if a
// pooler keeps that channel. It must be sent on another connection: on the same one, a pooler in
// transaction mode would return it with the answer to the statement.
func selfTest(ctx context.Context, pool execer, conn *pgx.Conn) error {
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
	if err := notify(wait, pool, name); err != nil {
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
