package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
)

// Session is a log under a lease.
type Session struct {
	log      Log
	cfg      Config
	progress progress
	early    early
	over     sync.Once

	reading  sync.Mutex // guards what follows; locked before writing; renewals do not need it
	reader   *pgx.Conn  // nil while the writer's connection serves
	borrowed bool       // the writer's connection is lent to the reader, which holds writing
	needed   time.Time  // when the reader was needed last
	shortage shortage

	writing turn // guards writer; held for a write, which Renew may wait for, and for a read only if nothing waits to be settled
	writer  *pgx.Conn
}

var (
	_ driver.Recycler = (*Session)(nil)
	_ driver.Watched  = (*Session)(nil)
)

// Open connects and begins where log says. After an error the lease is still held, but the
// writer is closed, and Ended is not called.
func Open(ctx context.Context, log Log, cfg Config) (*Session, error) {
	s := &Session{log: log, cfg: cfg, writer: cfg.Writer, writing: make(turn, 1)}
	var err error
	if cfg.Apart {
		s.reader, err = cfg.Connect(ctx)
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

func (s *Session) load(ctx context.Context) error {
	s.log.Use(s.line())
	w, slots, err := s.log.Load(ctx)
	if err == nil {
		s.progress.begin(w, slots)
	}
	return err
}

// Epoch implements driver.Session.
func (s *Session) Epoch() int64 {
	return s.cfg.Lease.Epoch
}

// patience is how long Renew waits for the writer's connection while a read uses it.
const patience = 100 * time.Millisecond

// Renew implements driver.Session. Without its connection the session has lost the lease, too:
// the lock that kept others away ended with it. A long read on that connection does not delay a
// renewal, which then goes through the pool.
func (s *Session) Renew(ctx context.Context, ttl time.Duration) error {
	if !s.writing.lockWithin(patience) {
		return s.cfg.Unusable(s.cfg.Leases.Renew(ctx, s.cfg.Pool, s.cfg.Lease, ttl))
	}
	defer s.writing.Unlock()
	err := s.cfg.Leases.Renew(ctx, s.writer, s.cfg.Lease, ttl)
	if err != nil && s.writer.IsClosed() && !errors.Is(err, driver.ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", s.cfg.Lease.Lost(), err)
	}
	return s.cfg.Unusable(err)
}

// Lost implements driver.Watched: the lease is lost with the connection that holds its lock, and
// without the reader's connection nothing can be read. If a connection is in use, its user gets
// the error.
func (s *Session) Lost() error {
	if s.reading.TryLock() {
		closed := s.reader != nil && s.reader.IsClosed()
		s.reading.Unlock()
		if closed {
			return fmt.Errorf("%w: %w", s.cfg.Lease.Lost(), errClosed)
		}
	}
	if s.writing.TryLock() {
		defer s.writing.Unlock()
		if err := gone(s.writer); err != nil {
			return fmt.Errorf("%w: %w", s.cfg.Lease.Lost(), err)
		}
	}
	return nil
}

// Advance implements driver.Session. The position after the last page of a window is not stored
// at once, but by the opening of the next window, or the next Read that finds nothing.
func (s *Session) Advance(ctx context.Context, p driver.Page, settled int) error {
	if s.early.settle(p, settled) {
		return nil
	}
	at, last, err := endOf(p, settled)
	if err != nil || !s.progress.settle(at, last) {
		return err
	}
	return s.store(ctx, at.window, last)
}

// Recycle implements driver.Recycler.
func (s *Session) Recycle(p driver.Page) {
	if at, ok := p.Cursor.(cursor); ok && at.free != nil {
		at.free()
	}
}

// store writes the position within a window.
func (s *Session) store(ctx context.Context, window, last int64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.storeInTurn(ctx, window, last)
}

// storeReading is store for callers that hold s.reading.
func (s *Session) storeReading(ctx context.Context, window, last int64) error {
	if s.borrowed {
		return s.storeInTurn(ctx, window, last)
	}
	return s.store(ctx, window, last)
}

// storeInTurn is store for callers that hold s.writing.
func (s *Session) storeInTurn(ctx context.Context, window, last int64) error {
	if s.progress.isStored(window, last) {
		return nil // Advance and the next Read may both store the same position
	}
	if err := failpoint.Inject(ctx, failpoint.RelayLatePositionWrite); err != nil {
		return err
	}
	if err := s.cfg.Windows.Advance(ctx, s.writer, s.cfg.Lease, window, last); err != nil {
		return s.cfg.Unusable(err)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayAdvanceAmbiguous); err != nil {
		return err
	}
	s.progress.store(window, last)
	return nil
}

// flush stores what is settled but not stored yet, by store or storeReading.
func (s *Session) flush(ctx context.Context, store func(ctx context.Context, window, last int64) error) error {
	window, last, ok := s.progress.unstored()
	if !ok {
		return nil
	}
	return store(ctx, window, last)
}

// Release implements driver.Session. The lease is released even if the position could not be
// stored, which costs repeats.
func (s *Session) Release(ctx context.Context) error {
	s.Follow(false)
	s.early.discard()      // pages that were read ahead will not be sent
	_ = s.settleEarly(ctx) // best effort: without it records are repeated
	err := s.flush(ctx, s.store)
	if rerr := s.giveUp(ctx); err == nil || rerr == nil {
		err = rerr
	}
	if errors.Is(err, driver.ErrLeaseLost) {
		err = nil // another session leads: there is nothing left to release
	}
	s.over.Do(func() {
		s.close(ctx)
		s.cfg.Ended()
	})
	return err
}

// giveUp releases the lease, through the pool if the writer connection is lost.
func (s *Session) giveUp(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.cfg.Leases.Release(ctx, s.writer, s.cfg.Lease)
	if err != nil && s.writer.IsClosed() && ctx.Err() == nil {
		err = s.cfg.Leases.Release(ctx, s.cfg.Pool, s.cfg.Lease)
	}
	return err
}

func (s *Session) close(ctx context.Context) {
	s.closeReader(ctx)
	Close(ctx, s.writer)
}
