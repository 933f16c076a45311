package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// fakeLog is a log of records with a lease and a position. It checks how it is used. The replicas of a
// test share it.
type fakeLog struct {
	mu       sync.Mutex
	records  []outbox.Record
	position int // records up to here are settled
	holder   *fakeSession
	until    time.Time
	epoch    int64
	broken   []error // rules that the relay has broken
	open     int     // sessions that were not released
}

// newFakeLog returns a log of n records with the keys a, b and c in turn.
func newFakeLog(n int) *fakeLog {
	l := &fakeLog{}
	l.add(n)
	return l
}

func (l *fakeLog) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		seq := int64(len(l.records) + 1)
		l.records = append(l.records, outbox.Record{
			Message: outbox.Message{ID: strconv.FormatInt(seq, 10), Topic: "t", Key: string("abc"[seq%3]), Payload: []byte("payload")},
			Seq:     seq,
		})
	}
}

func (l *fakeLog) settled() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.position
}

func (l *fakeLog) violations() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.broken...)
}

func (l *fakeLog) violated(format string, args ...any) {
	l.broken = append(l.broken, fmt.Errorf(format, args...))
}

// fakeSource is one replica's view of the log, with faults that a test sets.
type fakeSource struct {
	log   *fakeLog
	wakes chan struct{}

	check, acquire func() error
	renew, release func(ctx context.Context) error
	read, advance  func(ctx context.Context) error
	moved          driver.ServerChange // that sessions know of

	mu       sync.Mutex
	acquires []time.Time
	renewals []time.Time
	limits   []int
}

func (l *fakeLog) source() *fakeSource {
	none := func(context.Context) error { return nil }
	return &fakeSource{
		log: l, check: func() error { return nil }, acquire: func() error { return nil },
		renew: none, release: none, read: none, advance: none,
	}
}

func (s *fakeSource) Check(context.Context) error { return s.check() }

func (s *fakeSource) Wakes(context.Context) <-chan struct{} { return s.wakes }

func (s *fakeSource) Acquire(_ context.Context, ttl time.Duration) (driver.Session, error) {
	s.mu.Lock()
	s.acquires = append(s.acquires, time.Now())
	s.mu.Unlock()
	if err := s.acquire(); err != nil {
		return nil, err
	}
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != nil && time.Now().Before(l.until) {
		return nil, &driver.LeaseHeldError{Owner: "another", Remaining: time.Until(l.until)}
	}
	l.epoch++
	l.open++
	l.holder = &fakeSession{source: s, log: l, epoch: l.epoch, read: l.position, done: l.position}
	l.until = time.Now().Add(ttl)
	return l.holder, nil
}

// failRead makes the n-th Read fail after a while.
func (s *fakeSource) failRead(n int, after time.Duration) {
	reads := 0
	s.read = func(ctx context.Context) error {
		if reads++; reads != n {
			return nil
		}
		return errors.Join(wait.For(ctx, after), errAway)
	}
}

// attempts returns the times at which the lease was asked for.
func (s *fakeSource) attempts() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.acquires...)
}

// fakeSession is a session of a fakeLog.
type fakeSession struct {
	source *fakeSource
	log    *fakeLog
	epoch  int64

	read, done int // guarded by log.mu
	released   bool
}

func (f *fakeSession) Epoch() int64 { return f.epoch }

func (f *fakeSession) Moved() driver.ServerChange { return f.source.moved }

func (f *fakeSession) ours() bool { return f.log.holder == f && time.Now().Before(f.log.until) }

func (f *fakeSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if err := f.source.read(ctx); err != nil {
		return driver.Page{}, err
	}
	f.source.mu.Lock()
	f.source.limits = append(f.source.limits, limit)
	f.source.mu.Unlock()
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.released {
		l.violated("read after release")
	}
	from := f.read
	f.read = min(from+limit, len(l.records))
	if f.read == from {
		return driver.Page{Waiting: f.done < f.read}, nil
	}
	return driver.Page{Records: l.records[from:f.read], Cursor: from}, nil
}

func (f *fakeSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if err := f.source.advance(ctx); err != nil {
		return err
	}
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	from, _ := p.Cursor.(int)
	switch {
	case !f.ours():
		return driver.ErrLeaseLost
	case n < 1 || n > len(p.Records):
		l.violated("advance by %d of a page of %d", n, len(p.Records))
	case from > f.done || from+n <= f.done:
		l.violated("advance to %d+%d, settled up to %d", from, n, f.done)
	}
	f.done = from + n
	l.position = f.done
	return nil
}

func (f *fakeSession) Renew(ctx context.Context, ttl time.Duration) error {
	f.source.mu.Lock()
	f.source.renewals = append(f.source.renewals, time.Now())
	f.source.mu.Unlock()
	if err := f.source.renew(ctx); err != nil {
		return err
	}
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.ours() {
		return driver.ErrLeaseLost
	}
	l.until = time.Now().Add(ttl)
	return nil
}

func (f *fakeSession) Release(ctx context.Context) error {
	l := f.log
	l.mu.Lock()
	if f.released {
		l.violated("released twice")
	}
	f.released = true
	l.open--
	l.mu.Unlock()
	if err := f.source.release(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == f {
		l.holder = nil
	}
	return nil
}
