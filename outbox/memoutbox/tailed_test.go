package memoutbox

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// tailed is an outbox whose sessions follow what is committed.
type tailed struct {
	*control

	broken string
	open   atomic.Int32 // transactions
	passed atomic.Int64 // numbers, where the position is broken
}

func newTailed(t *testing.T, broken string) *tailed {
	t.Helper()
	s := &tailed{control: newControl(t), broken: broken}
	s.session = func(inner *session) driver.Session {
		return controlSession{session: inner, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := inner.Read(ctx, limit)
			if n := len(p.Records); n > 0 && p.Records[n-1].Seq <= s.passed.Load() {
				return driver.Page{}, nil
			}
			return p, err
		}}
	}
	return s
}

// Begin implements outboxtest.Subject.
func (s *tailed) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.control.Begin(ctx)
	s.open.Add(1)
	return &tailedTx{Tx: tx, s: s}, err
}

type tailedTx struct {
	outboxtest.Tx

	s    *tailed
	over bool
}

func (t *tailedTx) Commit(ctx context.Context) error {
	err := t.end(t.Tx.Commit(ctx))
	t.s.Wake()
	return err
}

func (t *tailedTx) Rollback(ctx context.Context) error { return t.end(t.Tx.Rollback(ctx)) }

func (t *tailedTx) end(err error) error {
	if !t.over {
		t.s.open.Add(-1)
	}
	t.over = true
	return err
}

// Following implements outboxtest.Follower.
func (s *tailed) Following(group string, look time.Duration) driver.Source {
	return tailedSource{s.Outbox.Source(SourceConfig{Group: group}).(*source), s, look}
}

type tailedSource struct {
	*source

	s    *tailed
	look time.Duration
}

func (s tailedSource) Wakes(ctx context.Context) <-chan struct{} {
	if s.s.broken == tailSilent {
		return nil
	}
	return s.source.Wakes(ctx)
}

func (s tailedSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	inner, err := s.source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &tailedSession{session: inner.(*session), s: s.s, look: s.look, sent: make(map[int64]bool)}, nil
}

// tailedSession hands out what the log has behind the window before a window is opened.
// One goroutine calls it.
type tailedSession struct {
	*session

	s    *tailed
	look time.Duration

	follows, joined bool
	next            int // of the log
	lookAt          time.Time
	generation      int
	unsettled       int // early pages
	sent            map[int64]bool
}

type (
	earlyCursor int // the generation
	// wholeCursor is of a page of which records were left out.
	wholeCursor struct {
		page driver.Page
		upTo []int // of each record that is left, the place behind it in page
	}
)

func (s *tailedSession) Follow(on bool) { s.follows, s.joined = on, s.joined && on }

func (s *tailedSession) Current(p driver.Page) bool {
	at, ok := p.Cursor.(earlyCursor)
	return ok && (int(at) == s.generation || s.s.broken == withdrawnStays)
}

func (s *tailedSession) Withdraw(p driver.Page, acked []int) {
	for i := range p.Records {
		if s.s.broken == withdrawnGone || slices.Contains(acked, i) {
			s.sent[p.Records[i].Seq] = true
		}
	}
	s.generation++
	s.unsettled, s.joined = 0, false
}

func (s *tailedSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if s.s.broken == tailBlocks && s.follows && s.s.open.Load() > 0 {
		return driver.Page{}, nil
	}
	s.ob.mu.Lock()
	end, opened := s.read == len(s.window), s.opened
	s.ob.mu.Unlock()
	if s.joined && time.Now().Before(s.lookAt) && (end || s.s.broken == earlyFirst) {
		if page := s.early(limit); end || len(page.Records) > 0 {
			return page, nil
		}
	}
	if end && s.unsettled > 0 {
		return driver.Page{Waiting: true}, nil
	}
	p, err := s.session.Read(ctx, limit)
	if err != nil {
		return p, err
	}
	if s.opened > opened {
		s.lookAt = time.Now().Add(s.look)
		if s.follows && !s.joined {
			s.joined, s.next = true, s.pos.to
		}
	}
	return s.rest(ctx, p, limit)
}

// early returns what the log has behind the window.
func (s *tailedSession) early(limit int) (page driver.Page) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	for ; s.next < len(s.ob.log) && len(page.Records) < limit; s.next++ {
		r := s.ob.log[s.next]
		if s.next < s.pos.to || s.sent[r.Seq] {
			continue
		}
		page.Records = append(page.Records, r)
		if s.s.broken == earlyPasses {
			s.s.passed.Store(max(s.s.passed.Load(), r.Seq))
		}
	}
	if len(page.Records) > 0 {
		s.unsettled++
		page.Early, page.Cursor = true, earlyCursor(s.generation)
	}
	return page
}

// rest leaves out what was sent early.
func (s *tailedSession) rest(ctx context.Context, p driver.Page, limit int) (driver.Page, error) {
	if len(p.Records) == 0 {
		return p, nil
	}
	at := wholeCursor{page: p}
	var left []outbox.Record
	for i := range p.Records {
		if !s.sent[p.Records[i].Seq] || s.s.broken == earlyAgain {
			left, at.upTo = append(left, p.Records[i]), append(at.upTo, i+1)
		}
	}
	if len(left) == 0 { // these checks have settled all that came before
		if err := s.session.Advance(ctx, p, len(p.Records)); err != nil {
			return driver.Page{}, err
		}
		return s.Read(ctx, limit)
	}
	at.upTo[len(left)-1] = len(p.Records)
	p.Records, p.Cursor = left, at
	return p, nil
}

func (s *tailedSession) Advance(ctx context.Context, p driver.Page, n int) error {
	switch at := p.Cursor.(type) {
	case earlyCursor:
		for i := range n {
			s.sent[p.Records[i].Seq] = true
		}
		if n == len(p.Records) {
			s.unsettled--
		}
		return nil
	case wholeCursor:
		return s.session.Advance(ctx, at.page, at.upTo[n-1])
	default:
		return s.session.Advance(ctx, p, n)
	}
}

func (s *tailedSession) Hold(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
	at, ok := p.Cursor.(wholeCursor)
	if !ok {
		return s.session.Hold(ctx, p, n, h)
	}
	h = slices.Clone(h)
	for i := range h {
		h[i].Index = slices.IndexFunc(at.page.Records, func(r outbox.Record) bool { return r.Seq == p.Records[h[i].Index].Seq })
	}
	return s.session.Hold(ctx, at.page, at.upTo[n-1], h)
}

// Release passes what was sent early, up to the first record that was not.
func (s *tailedSession) Release(ctx context.Context) error {
	s.follows, s.joined, s.unsettled = false, false, 0
	for passed := true; passed; {
		p, err := s.session.Read(ctx, 10)
		if err != nil {
			return err
		}
		n := 0
		for n < len(p.Records) && s.sent[p.Records[n].Seq] {
			n++
		}
		if passed = n > 0 && n == len(p.Records); n > 0 {
			if err := s.session.Advance(ctx, p, n); err != nil {
				return err
			}
		}
	}
	return s.session.Release(ctx)
}
