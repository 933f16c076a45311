package sim

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// tail is a session's stream of commits. It remembers which records of the stream were sent before a
// window had them. It is the counterpart of pgoutbox's sessions with a change log (design 2.11). The
// stream begins at some window, brings its last rows late, and can be cut. The zero value follows nothing.
type tail struct {
	follows    bool
	joined     bool
	next       int           // index of the commit that the stream brings next
	lookAt     time.Duration // when to read the log in any case
	generation int           // of early pages; a withdrawal begins a new one
	unsettled  int           // pages of the generation that are not settled
	sent       map[int64]xid // acknowledged rows that the position has not passed, by seq
}

// tailLook is the time between two reads of the log.
const tailLook = 300 * time.Millisecond

// earlyPage is the Cursor of an early page.
type earlyPage struct {
	generation int
	xids       []xid
}

// tailedSession is a session with a tail.
type tailedSession struct{ *session }

var _ driver.Tailed = tailedSession{}

// Follow implements driver.Tailed.
func (s tailedSession) Follow(on bool) {
	s.atOnce(context.Background(), "follow", func() { s.tail.follows, s.tail.joined = on, s.tail.joined && on })
}

// Current implements driver.Tailed.
func (s tailedSession) Current(p driver.Page) (current bool) {
	s.atOnce(context.Background(), "current", func() { current = s.tail.is(p) })
	return current
}

// Withdraw implements driver.Tailed.
func (s tailedSession) Withdraw(p driver.Page, acked []int) {
	s.atOnce(context.Background(), "withdraw", func() {
		if !s.tail.is(p) {
			return
		}
		if s.db.w.broken == WithdrawnGone {
			s.tail.remember(p, len(p.Records))
		}
		for _, i := range acked {
			s.tail.sent[p.Records[i].Seq] = p.Cursor.(earlyPage).xids[i]
		}
		s.tail.forget()
		s.tail.joined = false
	})
}

// Advance implements driver.Session. Settling an early page moves nothing.
func (s tailedSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if !p.Early {
		return s.session.Advance(ctx, p, n)
	}
	return s.node.do(ctx, op{name: "settle early"}, s.about(""), func() error {
		if s.tail.is(p) {
			s.tail.remember(p, n)
			if n == len(p.Records) {
				s.tail.unsettled--
			}
		}
		return nil
	})
}

// Release implements driver.Session.
func (s tailedSession) Release(ctx context.Context) error {
	s.atOnce(ctx, "pass early", func() {
		s.tail.follows, s.tail.joined = false, false
		s.tail.forget() // read-ahead records are not sent
		s.passEarly()
	})
	return s.session.Release(ctx)
}

// atOnce makes a call that does not leave the process.
func (s *session) atOnce(ctx context.Context, name string, effect func()) {
	_ = s.node.do(ctx, op{name: name}, s.about(""), func() error { effect(); return nil })
}

// is reports whether p is early and was not withdrawn.
func (t *tail) is(p driver.Page) bool {
	at, ok := p.Cursor.(earlyPage)
	return ok && at.generation == t.generation
}

// remember records that the first n records of p were acknowledged.
func (t *tail) remember(p driver.Page, n int) {
	for i := range n {
		t.sent[p.Records[i].Seq] = p.Cursor.(earlyPage).xids[i]
	}
}

// forget begins another generation of pages, so that earlier ones are not current any more.
func (t *tail) forget() {
	t.generation++
	t.unsettled = 0
}

// skips reports whether a window leaves out the row because it was sent early.
func (s *session) skips(r *outbox.Record) bool {
	_, sent := s.tail.sent[r.Seq]
	return sent && s.db.w.broken != EarlyAgain
}

// enter begins the window that was opened.
func (s *session) enter() {
	t := &s.tail
	for seq, x := range t.sent {
		if s.pos.prev.sees(x) {
			delete(t.sent, seq)
		}
	}
	t.lookAt = s.db.w.now() + tailLook
	switch {
	case t.joined:
		s.exhausted = s.db.w.broken == TailBelieved
	case t.follows && s.db.w.choose(2) == 0:
		t.joined, t.next = true, len(s.db.commits)
	}
}

// early returns the records that the stream has brought, which may be none. It returns false if the
// log must be searched.
func (s *session) early(limit int) (page driver.Page, ok bool) {
	t, d := &s.tail, s.db
	if t.joined && d.w.unlucky(20, Cut) {
		t.joined = false
	}
	if !t.joined || d.w.now() >= t.lookAt {
		return driver.Page{}, false
	}
	at := earlyPage{generation: t.generation}
	for came := len(d.commits) - int(d.w.choose(3)); t.next < came && len(page.Records) < limit; t.next++ {
		r := d.commits[t.next]
		if _, sent := t.sent[r.record.Seq]; !sent && !s.pos.target.sees(r.xid) && s.reads(&r.record) {
			page.Records, at.xids = append(page.Records, r.record), append(at.xids, r.xid)
		}
	}
	if len(page.Records) == 0 {
		return driver.Page{}, true
	}
	t.unsettled++
	page.Early, page.Round, page.Cursor = true, s.opened, at
	return page, true
}

// passEarly opens one more window at the end of a session, so that records that were sent early do
// not come again.
func (s *session) passEarly() {
	if len(s.tail.sent) == 0 || s.waits() || !s.exhausted || s.fenced() != nil || s.open() != nil {
		return
	}
	rows := s.window()
	last := int64(0)
	for seq, x := range s.tail.sent {
		if s.pos.target.sees(x) && (len(rows) == 0 || seq < rows[0].record.Seq) {
			last = max(last, seq)
		}
	}
	s.settle(last)
}
