package sim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// leaseTime is the duration of the relays' leases.
const leaseTime = 3 * time.Second

// lease is the right to relay.
type lease struct {
	owner *Node // nil if the lease is free
	epoch int64
	until time.Duration
	used  time.Duration // when its owner last wrote under it
	ended *atomic.Bool  // the lock of its owner's session is gone, although the owner may live
}

// free reports whether the lease can be taken: it has no owner, it has expired, or its owner's
// session is gone, even if time is left.
func (l *lease) free(now time.Duration) bool {
	return l.owner == nil || l.until <= now || l.ended.Load() || l.owner.dead
}

// position is the progress of the relays. no is the number of the current window. It holds the rows that
// target sees and prev does not, and its records up to last are settled.
type position struct {
	no           int64
	prev, target snapshot
	last         int64
}

// holds returns an error if the log is not the one that the positions belong to.
func (d *db) holds() error {
	if !d.emptied || d.w.broken == GroundUnseen {
		return nil
	}
	return driver.ErrSourceUnusable
}

// source is a process's view of the outbox.
type source struct {
	db   *db
	node *Node
}

var _ driver.Source = source{}

// Check implements driver.Source.
func (s source) Check(ctx context.Context) error {
	return s.node.do(ctx, op{name: "check", faulty: true}, "", s.db.holds)
}

// Wakes implements driver.Source.
func (s source) Wakes(context.Context) <-chan struct{} {
	return s.node.wake
}

// Acquire implements driver.Source: it takes the first slot that is free.
func (s source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	var n *session
	err := s.node.do(ctx, op{name: "acquire", faulty: true, stalls: true, late: true}, "", func() error {
		if err := s.db.holds(); err != nil {
			return err
		}
		var taken *driver.LeaseHeldError
		for _, one := range s.db.slots {
			left := one.lease.until - s.db.w.now()
			if one.lease.free(s.db.w.now()) || s.db.w.broken == RowsClaimed {
				n = s.open(one, ttl)
				return nil
			}
			if taken == nil || left < taken.Remaining {
				taken = &driver.LeaseHeldError{Owner: one.lease.owner.name, Remaining: left}
			}
		}
		return taken
	})
	if err != nil {
		return nil, err
	}
	if s.db.tails {
		return tailedSession{n}, nil
	}
	return n, nil
}

// open takes the lease of a slot.
func (s source) open(one *slot, ttl time.Duration) *session {
	d := s.db
	one.lease = lease{owner: s.node, epoch: one.lease.epoch + 1, until: d.w.now() + ttl, ended: new(atomic.Bool)}
	d.w.note(Event{What: Leased, Node: s.node.name, Seq: int64(one.no), N: one.lease.epoch})
	return &session{
		db: d, node: s.node, slot: one, epoch: one.lease.epoch, ended: one.lease.ended,
		pos: one.pos, read: one.pos.last, settled: one.pos.last, tail: tail{sent: make(map[int64]xid)},
	}
}

// session reads window after window. Its fields belong to the scheduler.
type session struct {
	db    *db
	node  *Node
	slot  *slot
	epoch int64
	ended *atomic.Bool // shared with the lease

	pos       position // the window that is read
	read      int64    // the last record of it that was handed out
	settled   int64    // the last one that is settled
	exhausted bool     // a page was not full
	opened    int
	tail      tail
}

var (
	_ driver.Holder  = (*session)(nil)
	_ driver.Watched = (*session)(nil)
)

// Epoch implements driver.Session.
func (s *session) Epoch() int64 { return s.epoch }

// Lost implements driver.Watched: a caller sees at once that the connection is gone.
func (s *session) Lost() error {
	if s.ended.Load() {
		return driver.ErrLeaseLost
	}
	return nil
}

// fenced returns ErrLeaseLost if the lease is another's.
func (s *session) fenced() error {
	l := &s.slot.lease
	if l.epoch == s.epoch && l.owner != nil {
		l.used = s.db.w.now()
		return nil
	}
	switch s.db.w.broken {
	case RowsClaimed:
		return nil
	case NoEpoch:
		s.db.w.note(Event{What: Stale, Node: s.node.name, N: s.epoch})
		return nil
	}
	return driver.ErrLeaseLost
}

// write executes a statement under the lease.
func (s *session) write(ctx context.Context, name, detail string, effect func() error) error {
	o := op{name: name, faulty: true, stalls: true, late: true}
	return s.node.do(ctx, o, s.about(detail), func() error {
		if err := s.fenced(); err != nil {
			return err
		}
		return effect()
	})
}

// Renew implements driver.Session.
func (s *session) Renew(ctx context.Context, ttl time.Duration) error {
	return s.write(ctx, "renew", "", func() error {
		s.slot.lease.until = s.db.w.now() + ttl
		return nil
	})
}

// Release implements driver.Session.
func (s *session) Release(ctx context.Context) error {
	return s.node.do(ctx, op{name: "release", faulty: true, late: true}, s.about(""), func() error {
		if s.slot.lease.epoch == s.epoch && s.db.w.broken != LeaseKept {
			s.slot.lease.owner = nil
			s.db.w.note(Event{What: Freed, Node: s.node.name, Seq: int64(s.slot.no), N: s.epoch})
		}
		return nil
	})
}

// Read implements driver.Session: a page, preceded by a new window if the last one is finished.
func (s *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	var page driver.Page
	again := false
	read := func() error {
		if err := s.db.holds(); err != nil {
			return err
		}
		page, again = s.look(limit)
		return nil
	}
	if err := s.node.do(ctx, op{name: "read", faulty: true, stalls: true}, s.about("read"), read); err != nil {
		return driver.Page{}, err
	}
	if !again {
		return page, nil
	}
	if err := s.write(ctx, "open", "", s.open); err != nil {
		return driver.Page{}, err
	}
	if err := s.node.do(ctx, op{name: "read", faulty: true, stalls: true}, s.about("read"), read); err != nil {
		return driver.Page{}, err
	}
	return page, nil
}

// look returns the records to hand out now, and whether another window must be opened for more.
func (s *session) look(limit int) (page driver.Page, again bool) {
	if s.db.w.broken == EarlyFirst {
		if page, ok := s.early(limit); ok && len(page.Records) > 0 {
			return page, false
		}
	}
	if page = s.page(limit); len(page.Records) > 0 {
		return page, false
	}
	if page, ok := s.early(limit); ok {
		return page, false
	}
	if s.waits() {
		return driver.Page{Waiting: true}, false
	}
	return page, s.unseen()
}

// waits reports whether pages must be settled before there is more to read.
func (s *session) waits() bool {
	return s.settled < s.read || s.tail.unsettled > 0
}

// unseen reports whether anything has ended since the window was opened.
func (s *session) unseen() bool {
	return !s.db.snapshot().equal(s.pos.target) || s.tail.follows && !s.tail.joined
}

// open finishes the window and opens the next: a compare-and-set.
func (s *session) open() error {
	if s.slot.pos.no != s.pos.no {
		return driver.ErrLeaseLost
	}
	if err := s.db.holds(); err != nil {
		return err
	}
	s.notePassed(s.db.seq) // the window's remaining rows were sent early
	next := position{no: s.pos.no + 1, prev: s.pos.target, target: s.db.snapshot()}
	if s.db.w.broken == IDCursor {
		next.last = s.slot.pos.last
	}
	s.slot.pos, s.pos = next, next
	s.read, s.settled, s.exhausted = next.last, next.last, false
	s.opened++
	s.enter()
	return nil
}
