package memoutbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// session reads window after window. A window is opened when the previous one is completely
// settled, and contains everything that has committed since: a transaction with low numbers that
// commits late is simply in a later window.
type session struct {
	ob      *Outbox
	name    string // of the group
	slot    int
	slots   int
	topics  []string
	sharing *sharing // of the group
	group   *group   // of the slot
	epoch   int64

	// Guarded by ob.mu. pos is the open window, with what is settled of it; read counts its
	// records that were returned.
	pos    position
	window []outbox.Record
	read   int
	opened int // number of windows that this session has opened
}

// cursor is the Cursor of a page: the window it belongs to and its first record.
type cursor struct {
	from, to, first int
}

// Epoch implements driver.Session.
func (s *session) Epoch() int64 {
	return s.epoch
}

// Read implements driver.Session.
func (s *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return driver.Page{}, err
	}
	if s.read == len(s.window) {
		if s.pos.done < len(s.window) {
			return driver.Page{Waiting: true}, nil
		}
		if !s.sharing.ends(s.pos) {
			s.open()
		}
		if s.sharing.ends(s.pos) {
			return driver.Page{}, driver.ErrSlotClosed
		}
	}
	first := s.read
	s.read = min(first+limit, len(s.window))
	p := driver.Page{
		Records: s.window[first:s.read:s.read],
		Round:   s.opened,
		Cursor:  cursor{from: s.pos.from, to: s.pos.to, first: first},
	}
	if len(p.Records) == 0 {
		held := slices.ContainsFunc(s.held().Rows(), func(r heldqueue.Row) bool { return r.State != heldqueue.Dead })
		p.Idle = &driver.Idle{NoneHeld: !held, Paused: slices.Clone(s.ob.paused[s.name])}
	}
	return p, nil
}

// open finishes the window and opens the next.
func (s *session) open() {
	s.opened++
	s.ob.promote()
	s.pos = position{from: s.pos.to, to: s.sharing.end(len(s.ob.log))}
	s.window = s.part(s.ob.window(s.pos))
	s.read = 0
	s.group.pos = s.pos
}

// Advance implements driver.Session. It stores the position at once.
func (s *session) Advance(ctx context.Context, p driver.Page, n int) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	_, err := s.settle(p, n)
	return err
}

// settle moves the position past the first n records of p and returns how many of them it was
// past already. The caller holds ob.mu.
func (s *session) settle(p driver.Page, n int) (before int, err error) {
	c, ok := p.Cursor.(cursor)
	switch {
	case n < 0 || n > len(p.Records):
		return 0, fmt.Errorf("leat: advance by %d of a page of %d records", n, len(p.Records))
	case !ok && len(p.Records) == 0:
		return 0, nil // a page that was waiting
	case !ok:
		return 0, fmt.Errorf("leat: advance: page with a foreign cursor %T", p.Cursor)
	case c.from != s.pos.from || c.to != s.pos.to:
		return n, nil // of a window that is already settled
	}
	before = s.pos.done - c.first
	s.pos.done = max(s.pos.done, c.first+n)
	s.group.pos = s.pos
	return before, nil
}

// Renew implements driver.Session.
func (s *session) Renew(ctx context.Context, ttl time.Duration) error {
	if ttl <= 0 {
		return outbox.ConfigError("ttl", ttl, "must be positive")
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	s.group.until = time.Now().Add(ttl)
	return nil
}

// Release implements driver.Session.
func (s *session) Release(ctx context.Context) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.group.epoch == s.epoch {
		s.group.held = false
	}
	return nil
}

// alive reports whether the session still holds the lease. The caller holds ob.mu.
func (s *session) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.group.epoch != s.epoch || !s.group.held || !time.Now().Before(s.group.until) {
		return driver.ErrLeaseLost
	}
	return nil
}
