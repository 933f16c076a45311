package relay

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox/driver"
)

// begin reads, where the sink is transactional from the position that it has.
func (t *term) begin(stop, work context.Context) error {
	if t.exact != nil {
		if err := t.exact.begin(stop, work); err != nil {
			return err
		}
	}
	return t.read(stop, work)
}

// read fetches pages ahead of the sender until stop ends, or once until nothing
// is left.
func (t *term) read(stop, work context.Context) error {
	cfg := t.relay.cfg
	idle := jitter.Backoff{Min: cfg.PollMin, Max: cfg.PollMax}
	limit := newPageLimit(&cfg)
	for stop.Err() == nil {
		page, err := t.session.Read(work, limit.records)
		if err == nil && len(page.Records) > 0 {
			err = failpoint.Inject(work, failpoint.RelayAfterFetch)
		}
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			return err
		case err != nil:
			return t.fault(work, "read", err)
		case t.once && page.Round > 1:
			t.drained.Store(true) // committed after RunOnce was called
			return nil
		case len(page.Records) > 0:
			idle.Reset()
			limit.learn(page.Records)
			t.breakers.seen.noteRead(page.Records)
			if !t.hand(stop, page) {
				return nil
			}
		case page.Waiting:
			t.awaitSettled(stop)
		case t.once:
			t.drained.Store(true)
			return nil
		default:
			t.idle(stop, idle.Next())
		}
	}
	return nil
}

// hand gives page to the sender and says whether it took it. Without read-ahead
// it also waits until the page is settled.
func (t *term) hand(stop context.Context, page driver.Page) bool {
	select {
	case t.pages <- page:
	case <-stop.Done():
		return false
	}
	if t.relay.cfg.ReadAhead == NoReadAhead {
		t.awaitSettled(stop)
	}
	return true
}

func (t *term) awaitSettled(stop context.Context) {
	select {
	case <-t.settled:
	case <-stop.Done():
	}
}

// idle waits for wait, a wake or the end. A nil channel of wakes never wakes.
func (t *term) idle(stop context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.wakes:
	case <-stop.Done():
	}
}
