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

// sender delivers the pages of a term one at a time, in order, and between them the held
// records that are due. It calls the sink, takes its results, and stores the position
// behind what is delivered. Its mode decides what is sent together, and what happens to a
// record that fails. One goroutine owns it.
type sender struct {
	term  *term
	relay *Relay
	mode  mode
	retry jitter.Backoff  // the wait after a failure
	lent  driver.Recycler // takes the memory of pages back; nil if somebody may keep it
	alive *basis.Policies // those of the relays that live, since the last call of the sink; nil: not asked for
}

func newSender(t *term) sender {
	s := sender{term: t, relay: t.relay, retry: t.relay.cfg.backoff()}
	if t.relay.borrows() {
		s.lent, _ = t.session.(driver.Recycler)
	}
	return s
}

// run sends until the reader has ended and everything that it has read is delivered. It
// begins nothing after stop has ended.
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

// nextPage waits for a page, and for due if that comes first: isDue is true then. A page
// that is there already goes first, since held records were retried just before. ok is
// false behind the last page.
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

// deliver delivers page and tells the reader. After stop has ended it does nothing: the
// page stays for the next term.
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

// borrows reports whether nobody looks at records after they were sent.
func (r *Relay) borrows() bool {
	_, ok := r.sink.(driver.Borrower)
	for _, h := range r.cfg.Hooks {
		if _, isShown := h.(SendHook); isShown && ok {
			_, ok = h.(driver.Borrower)
		}
	}
	return ok
}

// recycle gives back the memory of page, which the sink has acknowledged as a whole, at once.
func (s *sender) recycle(page driver.Page) {
	if s.lent != nil {
		s.lent.Recycle(page)
	}
}

// isOver reports whether ctx has ended.
func isOver(ctx context.Context) bool { return ctx.Err() != nil }

// advance stores the position behind the first n records of page. It is stored behind the
// first stored records already; all between have been acknowledged.
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
