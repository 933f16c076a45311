package pglog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// readerKept is how long the reader's connection is kept after it was last needed.
const readerKept = 10 * time.Second

// turn is a lock that also offers a wait with a time limit.
type turn chan struct{}

// Lock waits for the lock.
func (t turn) Lock() { t <- struct{}{} }

// Unlock releases the lock.
func (t turn) Unlock() { <-t }

// TryLock takes the lock if it is free, and reports whether it was.
func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin is TryLock, but waits for at most d.
func (t turn) lockWithin(d time.Duration) bool {
	if t.TryLock() {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// line is the connection that reads: the reader's, or the writer's if there is none.
func (s *Session) line() *pgx.Conn {
	if s.reader != nil {
		return s.reader
	}
	return s.writer
}

// lend prepares the log for reading, until giveBack is called. While nothing waits to be settled,
// it uses the writer's connection, which only Renew needs then. Otherwise a reader's connection
// is needed. It reports false if there is none: the returned pages must be settled first. The
// caller holds s.reading.
func (s *Session) lend(ctx context.Context) (giveBack func(), ok bool, err error) {
	if s.borrowed {
		return func() {}, true, nil
	}
	if s.waiting() {
		s.needed = time.Now()
		if s.reader == nil {
			ok, err = s.openReader(ctx)
			return func() {}, ok, err
		}
	} else if s.reader != nil && !s.cfg.Apart && time.Since(s.needed) >= readerKept {
		s.closeReader(ctx)
	}
	s.log.Use(s.line())
	if s.reader != nil {
		return func() {}, true, nil
	}
	s.writing.Lock()
	s.borrowed = true
	return func() {
		s.borrowed = false
		s.writing.Unlock()
	}, true, nil
}

// lendAny returns a connection for a small statement, and a function that gives it back.
func (s *Session) lendAny() (conn *pgx.Conn, giveBack func()) {
	s.reading.Lock()
	if s.reader != nil {
		return s.reader, s.reading.Unlock
	}
	s.writing.Lock()
	return s.writer, func() {
		s.writing.Unlock()
		s.reading.Unlock()
	}
}

// shortage is a time in which no second connection was available.
type shortage struct {
	since time.Time // zero if there is none
	retry time.Time
}

// shortageRetry is how soon a session tries again to get its second connection.
const shortageRetry = time.Second

var errNoRoom = errors.New("leat: the other relays of this process have all connections that it may take")

// openReader opens the reader's connection. Without it the session continues, more slowly: a full
// server is not a reason to release a lease. It logs once when that begins and once when it is
// over.
func (s *Session) openReader(ctx context.Context) (bool, error) {
	if time.Now().Before(s.shortage.retry) {
		return false, nil
	}
	conn, err := s.connectReader(ctx)
	if err != nil {
		if ctx.Err() != nil || errors.Is(s.cfg.Unusable(err), driver.ErrSourceUnusable) {
			return false, err
		}
		s.shortage.retry = time.Now().Add(shortageRetry)
		if s.shortage.since.IsZero() {
			s.shortage.since = time.Now()
			s.cfg.Logger.WarnContext(ctx, "no second connection for a relay: until there is one, it reads and settles in turn",
				slog.Int("slot", int(s.cfg.Lease.Slot.No)), slog.Any("error", err))
		}
		return false, nil
	}
	if !s.shortage.since.IsZero() {
		s.cfg.Logger.InfoContext(ctx, "there is a second connection for the relay again",
			slog.Int("slot", int(s.cfg.Lease.Slot.No)), slog.Duration("took", time.Since(s.shortage.since)))
		s.shortage = shortage{}
	}
	s.reader = conn
	s.log.Use(conn)
	return true, nil
}

func (s *Session) connectReader(ctx context.Context) (*pgx.Conn, error) {
	if !s.cfg.Room.Take() {
		return nil, errNoRoom
	}
	conn, err := s.cfg.Connect(ctx)
	if err != nil {
		s.cfg.Room.GiveBack()
	}
	return conn, err
}

func (s *Session) closeReader(ctx context.Context) {
	if s.reader != nil {
		Close(ctx, s.reader)
		s.reader = nil
		if !s.cfg.Apart { // with Apart, the connection was not taken from Room
			s.cfg.Room.GiveBack()
		}
	}
}
