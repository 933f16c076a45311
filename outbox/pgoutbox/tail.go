package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwal"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

const (
	// tailRetryMin and tailRetryMax bound the wait before a tail begins again. It grows while
	// tails end within tailCalm.
	tailRetryMin, tailRetryMax = 500 * time.Millisecond, time.Minute
	tailCalm                   = time.Minute
	// tailAskEvery is the shortest time between two checks whether a stream may be joined.
	tailAskEvery = 50 * time.Millisecond
)

// errTail is wrapped by the reasons for which a relay has no tail.
var errTail = errors.New("leat: no tail")

// tail follows the log over logical replication for one session. It implements pglog.Tail. Errors
// end its stream, never the session.
type tail struct {
	log *slotLog // Join and Look use its reader
	cfg TailConfig

	goroutines sync.WaitGroup
	turn       sync.Mutex // held by the following goroutine: a former one may not have ended

	mu     sync.Mutex
	cancel context.CancelFunc // nil unless it should follow
	stream *tailStream        // nil unless one is running
	told   string             // the last reason that was logged, empty once a stream has run since
}

func newTail(l *slotLog) *tail {
	return &tail{log: l, cfg: *l.source.cfg.Tail}
}

// Follow implements pglog.Tail.
func (t *tail) Follow(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case on && t.cancel == nil:
		ctx, cancel := context.WithCancel(context.Background())
		t.cancel = cancel
		t.goroutines.Go(func() { t.run(ctx) })
	case !on && t.cancel != nil:
		t.cancel()
		t.cancel = nil
	}
}

// stop ends the tail and waits until it has ended. A nil tail has ended.
func (t *tail) stop() {
	if t != nil {
		t.Follow(false)
		t.goroutines.Wait()
	}
}

// run follows until ctx ends, on a new connection after each error.
func (t *tail) run(ctx context.Context) {
	t.turn.Lock()
	defer t.turn.Unlock()
	retry := jitter.Backoff{Min: tailRetryMin, Max: tailRetryMax}
	for ctx.Err() == nil {
		began := time.Now()
		err := t.follow(ctx)
		t.setStream(nil)
		if ctx.Err() != nil {
			err = context.Canceled
		}
		t.tell(ctx, driver.TailEvent{Group: t.log.source.cfg.Group, Err: err})
		if time.Since(began) > tailCalm {
			retry.Reset()
		}
		_ = wait.For(ctx, retry.Next())
	}
}

// follow follows on one connection until its first error.
func (t *tail) follow(ctx context.Context) error {
	if err := t.check(ctx, t.log.source.ob.pool); err != nil {
		return err
	}
	conn, err := t.connect(ctx)
	if err != nil {
		return err
	}
	server, err := t.server(ctx, conn)
	var id string
	if err == nil {
		id, err = ids.New()
	}
	if err != nil {
		closeTail(ctx, conn)
		return err
	}
	wal, err := pgwal.Open(ctx, conn, pgwal.Config{
		Slot:        "leat_tail_" + strings.ReplaceAll(id, "-", ""),
		Publication: t.cfg.Publication,
		MaxLag:      t.cfg.MaxLag,
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, wal.Close)()
	s := newTailStream(t, wal, server)
	t.setStream(s)
	t.tell(ctx, driver.TailEvent{Group: t.log.source.cfg.Group, Follows: true})
	t.log.source.listener.bell.ring() // so that the reader joins the stream
	return s.end(wal.Run(s))
}

// connect opens a connection for replication. The password comes from the address, or from the
// pool's BeforeConnect.
func (t *tail) connect(ctx context.Context) (*pgconn.PgConn, error) {
	if t.cfg.URL != "" {
		cfg, err := pgconn.ParseConfig(t.cfg.URL)
		if err != nil {
			return nil, err
		}
		return t.open(ctx, cfg)
	}
	var conn *pgconn.PgConn
	err := t.log.source.ob.address.Dial(ctx, func(cfg *pgx.ConnConfig) (err error) {
		conn, err = t.open(ctx, &cfg.Config)
		return err
	})
	return conn, err
}

func (t *tail) open(ctx context.Context, cfg *pgconn.Config) (*pgconn.PgConn, error) {
	name := "leat tail " + t.log.source.cfg.Group
	cfg.RuntimeParams["replication"] = "database"
	cfg.RuntimeParams["application_name"] = storable.AtMost(name, 63)
	return pgconn.ConnectConfig(ctx, cfg)
}

func closeTail(ctx context.Context, conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // best effort: the server ends the session all the same
}

// check returns why the server is not suitable.
func (t *tail) check(ctx context.Context, db pgwindow.Querier) error {
	s := t.log.source
	var problem *string
	err := db.QueryRow(ctx, s.sql.tailCheck, t.cfg.Publication, s.ob.table).Scan(&problem)
	if err == nil && problem != nil {
		err = fmt.Errorf("%w: %s (Tail.Publication %q)", errTail, *problem, t.cfg.Publication)
	}
	return err
}

// server returns the database and the server of conn. They must be the pool's.
func (t *tail) server(ctx context.Context, conn *pgconn.PgConn) (string, error) {
	results, err := conn.Exec(ctx, t.log.source.sql.tailServer).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 1 {
		return "", fmt.Errorf("%w: the server of the replication connection does not say which it is", errTail)
	}
	server := string(results[0].Rows[0][0])
	return server, t.requireSame(ctx, t.log.source.ob.pool, server)
}

// requireSame returns an error unless db is a connection to server. Otherwise foreign rows would
// be sent as the outbox's.
func (t *tail) requireSame(ctx context.Context, db pgwindow.Querier, server string) error {
	var own string
	err := db.QueryRow(ctx, t.log.source.sql.tailServer).Scan(&own)
	if err == nil && own != server {
		err = fmt.Errorf("%w: the replication connection (Tail.URL) is not to the outbox's server and database", errTail)
	}
	return err
}

// Join implements pglog.Tail. A row that was committed before the stream began may still be
// invisible to every snapshot. So the stream joins at the first window after the end of every
// transaction that was open when the stream began.
func (t *tail) Join(ctx context.Context) pglog.Stream {
	s := t.running()
	if s == nil || time.Now().Before(s.askAt) {
		return nil
	}
	s.askAt = time.Now().Add(tailAskEvery)
	sql, db := t.log.source.sql, t.log.conn
	var err error
	if s.since == 0 {
		if err = t.requireSame(ctx, db, s.server); err == nil {
			err = db.QueryRow(ctx, sql.tailXID).Scan(&s.since)
		}
	}
	var may bool
	if err == nil {
		err = db.QueryRow(ctx, sql.tailJoin, s.since).Scan(&may)
	}
	if err != nil {
		s.Close("it cannot be joined: " + err.Error())
	}
	if !may {
		return nil
	}
	return s
}

// Look implements pglog.Tail.
func (t *tail) Look(ctx context.Context, missed []int64) {
	s := t.running()
	if s == nil {
		return
	}
	if err := t.check(ctx, t.log.conn); err != nil {
		s.Close(strings.TrimPrefix(err.Error(), errTail.Error()+": "))
		return
	}
	if n := s.owe(missed, time.Now(), max(t.cfg.Look, t.cfg.MaxLag)); n > 0 {
		s.Close(fmt.Sprintf("it has missed %d messages that windows have found, or it is behind", n))
	}
}

func (t *tail) running() *tailStream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stream
}

func (t *tail) setStream(s *tailStream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream = s
}

// tell logs a change, unless it is the same as the last one, and calls the hooks.
func (t *tail) tell(ctx context.Context, e driver.TailEvent) {
	logger := t.log.source.ob.cfg.Logger.With(slog.String("group", e.Group))
	reason := ""
	if e.Err != nil {
		reason = e.Err.Error()
	}
	t.mu.Lock()
	canceled := errors.Is(e.Err, context.Canceled) // the relay carries on without it for now
	news := reason != t.told && !canceled
	if !canceled {
		t.told = reason
	}
	t.mu.Unlock()
	switch {
	case e.Follows:
		logger.InfoContext(ctx, "tail follows the log over logical replication")
	case news:
		logger.WarnContext(ctx, "relay goes on without its tail: messages are found by polling and wakes", slog.Any("error", e.Err))
	}
	hooks.Call(ctx, t.log.source.ob.cfg.Logger, t.cfg.Hooks, func(h driver.TailHook) { h.OnDriverTail(ctx, e) })
}
