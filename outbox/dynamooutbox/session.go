package dynamooutbox

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// session reads the pending messages, in laps through all buckets, and deletes those that were
// acknowledged.
type session struct {
	ob    *Outbox
	src   *source
	epoch int64
	lap   *lap // only used by Read
	first bool // no relay has led before, and nothing was read; only used by Read
	held  heldCache

	mu        sync.Mutex
	lease     lease
	until     time.Time // by our own clock, taken before the lease was written
	over      bool
	unsettled map[int64]bool // numbers of the messages in the pages in flight
}

func newSession(s *source, l lease, began time.Time, buckets int) *session {
	n := &session{ob: s.ob, src: s, epoch: l.epoch, lease: l, until: began.Add(l.ttl), unsettled: make(map[int64]bool)}
	n.lap = newLap(n, buckets)
	n.held.group = s.group
	s.ob.session.Store(n)
	return n
}

// Epoch implements driver.Session.
func (s *session) Epoch() int64 { return s.epoch }

// alive returns driver.ErrLeaseLost if the lease has expired by our own clock: no other process
// takes it before that.
func (s *session) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !time.Now().Before(s.until) {
		return driver.ErrLeaseLost
	}
	return nil
}

// Renew implements driver.Session.
func (s *session) Renew(ctx context.Context, ttl time.Duration) error {
	if ttl <= 0 {
		return outbox.ConfigError("ttl", ttl, "must be positive")
	}
	if err := s.alive(ctx); err != nil {
		return err
	}
	before, err := s.ob.readLease(ctx)
	if err != nil {
		return err
	}
	if before.owner != s.lease.owner || before.epoch != s.epoch {
		return s.lost()
	}
	next, began := before.renewed(ttl), time.Now()
	there, err := s.ob.writeLease(ctx, before, next)
	if err != nil {
		return err
	}
	if there.nonce != next.nonce {
		return s.lost()
	}
	s.ob.seen.note(next, began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = began.Add(ttl)
	return nil
}

func (s *session) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return driver.ErrLeaseLost
}

// Release implements driver.Session.
func (s *session) Release(ctx context.Context) error {
	_ = s.lost() // from here on nothing is done under the lease
	before, err := s.ob.readLease(ctx)
	if err != nil || before.owner != s.lease.owner || before.epoch != s.epoch {
		return err
	}
	free := before.renewed(before.ttl)
	free.owner = ""
	_, err = s.ob.writeLease(ctx, before, free)
	return err
}
