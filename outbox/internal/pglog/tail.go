package pglog

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Tail delivers the rows of a log as they are committed, from a change log. It may miss rows, and
// is never relied on for completeness: the windows return what it has missed, and they determine
// the position. See design 2.11.
type Tail interface {
	// Follow starts following in the background, or ends it. It does not wait.
	Follow(on bool)

	// Join returns the running stream, if a window that is opened from now on may be joined:
	// every row that its target does not see will come, unless the stream misses it. Otherwise it
	// returns nil. It may use the connection that the Log uses.
	Join(ctx context.Context) Stream

	// Look is called once per interval while a stream is joined, with the rows of the window that
	// the stream had not delivered. It closes the stream if it should no longer be used. It may
	// use the connection that the Log uses.
	Look(ctx context.Context, missed []int64)
}

// Stream is one connection of a Tail. Its methods are safe for concurrent use.
type Stream interface {
	// Take returns the next rows that target does not see, at most limit, in the order of their
	// commits, and skips those that it sees. It reports false once the stream has ended, with no
	// rows.
	Take(target pgwindow.Snapshot, limit int) ([]Row, bool)

	// Close ends the stream; the Tail opens another one at some later time.
	Close(because string)
}

// Row is a row that a stream has delivered.
type Row struct {
	outbox.Record

	// XID is the transaction that has inserted it.
	XID uint64
}

var _ driver.Tailed = (*Session)(nil)

// Follow implements driver.Tailed. Without a Tail nothing changes.
func (s *Session) Follow(on bool) {
	if s.cfg.Tail == nil || !s.early.follow(on) {
		return
	}
	s.cfg.Tail.Follow(on)
}

// Current implements driver.Tailed.
func (s *Session) Current(p driver.Page) bool { return s.early.current(p) }

// Withdraw implements driver.Tailed.
func (s *Session) Withdraw(p driver.Page, acked []int) { s.early.withdraw(p, acked) }

// follows reports whether the session need not read the log now, and returns the page that the
// tail has delivered, if any.
func (s *Session) follows(limit int) (driver.Page, bool) {
	if s.cfg.Tail == nil {
		return driver.Page{}, false
	}
	at := s.progress.place()
	return s.early.page(at.Window.Target, s.progress.round(), limit, time.Now())
}

// join asks the tail for a stream, if there is none. The next window joins it.
func (s *Session) join(ctx context.Context) Stream {
	if s.cfg.Tail == nil || !s.early.wantsJoin() || s.progress.groupSlots() != 1 {
		return nil
	}
	return s.cfg.Tail.Join(ctx)
}

// looked records that a window was read. missed are its rows that were not returned early.
func (s *Session) looked(ctx context.Context, missed []outbox.Record) {
	if s.cfg.Tail == nil {
		return
	}
	joined, fresh := s.early.looked(time.Now().Add(s.cfg.Look))
	if !joined {
		return
	}
	var seqs []int64
	for i := range missed {
		if !fresh { // otherwise they were committed before the stream was joined
			seqs = append(seqs, missed[i].Seq)
		}
	}
	s.cfg.Tail.Look(ctx, seqs)
}

// settleEarly opens one more window, so that what was sent early is behind the position and is
// not read again. It is for the end of a session, and best effort: without it records are
// repeated.
func (s *Session) settleEarly(ctx context.Context) error {
	if s.cfg.Tail == nil || s.early.settledCount() == 0 || s.waiting() || !s.progress.place().Whole {
		return nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	giveBack, ok, err := s.lend(ctx)
	if err != nil || !ok {
		return err
	}
	defer giveBack()
	if opened, _, err := s.openNext(ctx); err != nil || !opened || s.progress.closed() {
		return err
	}
	at := s.progress.place()
	rows, err := s.log.Page(ctx, at, 1)
	if err != nil {
		return err
	}
	last := rows.Last
	switch {
	case len(rows.Records) > 0:
		last = rows.Records[0].Seq - 1
	case len(at.Skip) > 0:
		last = max(last, at.Skip[len(at.Skip)-1])
	}
	if last <= at.Window.Last {
		return nil
	}
	return s.storeReading(ctx, at.Window.No, last)
}

// waiting reports whether a page was returned and is not settled.
func (s *Session) waiting() bool {
	return s.progress.waiting() || s.early.waiting()
}

// Joined reports whether a stream is joined, so that early pages may come.
func (s *Session) Joined() bool { return s.early.joined() }
