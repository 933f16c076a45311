package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// sender delivers the pages of a term one at a time, in order, and between them the held records
// that are due. It calls the sink, handles its results, and stores the position after what is
// delivered. Its mode decides what is sent together, and what happens to a record that fails. One
// goroutine owns it.
type sender struct {
	term  *term
	relay *Relay
	mode  mode
	retry jitter.Backoff  // the wait after a failure
	lent  driver.Recycler // reuses the memory of pages; nil if the sink or a hook may keep it
	alive *basis.Policies // policies of the live relays, since the last call of the sink; nil: not requested
}

func newSender(t *term) sender {
	s := sender{term: t, relay: t.relay, retry: t.relay.cfg.backoff()}
	if t.relay.borrows() {
		s.lent, _ = t.session.(driver.Recycler)
	}
	return s
}

// run sends until the reader has ended and all its pages are delivered. It begins nothing after
// stop has ended.
func (s *sender) run(stop, work context.Context) error {
	if err := s.mode.beforeSend(work); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := s.mode.retryHeld(stop, work); err != nil {
			return err
		}
		var due <-chan time.Time
		if at := s.mode.nextRetry(); !at.IsZero() && !isOver(stop) {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		page, ok, isDue := s.nextPage(due)
		switch {
		case !ok:
			return s.mode.finish(stop, work)
		case isDue:
			continue
		}
		if err := s.deliver(stop, work, page); err != nil {
			return err
		}
	}
}

// nextPage waits for a page, and for due if that comes first: isDue is true then. A page that is
// ready goes first, since held records were retried just before. ok is false after the last page.
func (s *sender) nextPage(due <-chan time.Time) (page driver.Page, ok, isDue bool) {
	select {
	case page, ok = <-s.term.pages:
		return page, ok, false
	default:
	}
	select {
	case page, ok = <-s.term.pages:
		return page, ok, false
	case <-due:
		return driver.Page{}, true, true
	}
}

// deliver delivers page and signals the reader. After stop has ended it does nothing: the page
// stays for the next term.
func (s *sender) deliver(stop, work context.Context, page driver.Page) error {
	if isOver(stop) {
		return nil
	}
	s.term.inHand(&page.Records[0])
	err := failpoint.Inject(work, failpoint.RelayBetweenPages)
	if err == nil {
		err = s.mode.deliver(stop, work, page)
	}
	if err != nil {
		return err
	}
	if !isOver(stop) {
		s.term.inHand(nil)
	}
	select {
	case s.term.delivered <- struct{}{}:
	default:
	}
	return nil
}

// borrows reports whether no sink or hook uses records after they were sent.
func (r *Relay) borrows() bool {
	_, ok := r.sink.(driver.Borrower)
	for _, h := range r.cfg.Hooks {
		if _, isShown := h.(SendHook); isShown && ok {
			_, ok = h.(driver.Borrower)
		}
	}
	return ok
}

// recycle returns the memory of page to the session. The sink has acknowledged the whole page at
// once.
func (s *sender) recycle(page driver.Page) {
	if s.lent != nil {
		s.lent.Recycle(page)
	}
}

// isOver reports whether ctx has ended.
func isOver(ctx context.Context) bool { return ctx.Err() != nil }

// advance stores the position after the first n records of page. It is already stored up to
// stored; all records in between have been acknowledged.
func (s *sender) advance(work context.Context, page driver.Page, stored, n int) error {
	if n == stored {
		return nil
	}
	err := failpoint.Inject(work, failpoint.RelayAckedBeforeAdvance)
	if err == nil {
		err = s.term.session.Advance(work, page, n)
	}
	if err != nil {
		return s.term.fault(work, "advance", err)
	}
	s.countStored(work, page.Records[stored:n], 0)
	return nil
}

// countStored counts records that the position has passed. held is how many of them were
// set aside.
func (s *sender) countStored(work context.Context, records []outbox.Record, held int) {
	s.term.acked.Add(int64(len(records) - held))
	s.term.progress(work, records, held)
	s.term.goesOn(settling)
}
