package relay

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox/driver"
)

// reader fetches the pages of a term ahead of the sender. One goroutine owns it.
type reader struct {
	term  *term
	idle  jitter.Backoff // the wait while nothing new is committed
	slept time.Duration  // the last wait, 0 if a wake has ended it
	limit pageLimit
}

func newReader(t *term) reader {
	cfg := &t.relay.cfg
	return reader{term: t, idle: jitter.Backoff{Min: cfg.PollMin, Max: cfg.PollMax}, limit: newPageLimit(cfg)}
}

// run reads until stop ends, or until nothing is left if the term runs once.
func (r *reader) run(stop, work context.Context) error {
	t := r.term
	if err := t.sender.mode.beforeRead(stop, work); err != nil {
		return err
	}
	for stop.Err() == nil {
		began := time.Now()
		page, err := t.session.Read(work, r.limit.records)
		t.onRead(work, page, began, err)
		if err == nil && len(page.Records) > 0 {
			err = failpoint.Inject(work, failpoint.RelayAfterFetch)
		}
		if err == nil {
			t.goesOn(reading)
		}
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			return err
		case err != nil:
			return t.fault(work, "read", err)
		case t.once && page.Round > 1:
			t.drained.Store(true) // the records were committed after the call of RunOnce
			return nil
		case len(page.Records) > 0:
			r.idle.Reset()
			if r.slept >= longSleep {
				t.relay.foundByPolling(work)
			}
			r.slept = 0
			r.limit.learn(page.Records)
			t.sender.mode.noteRead(page.Records)
			if !r.hand(stop, page) {
				return nil
			}
		case page.Waiting:
			r.awaitDelivery(stop)
		case t.once:
			t.drained.Store(true)
			return nil
		default:
			t.noteIdle(began, page.Idle)
			r.poll(stop, jitter.Together(r.idle.Next(), time.Now()))
		}
	}
	return nil
}

// hand passes page to the sender and reports whether the sender has taken it. Without
// read-ahead it waits until the page is delivered, too.
func (r *reader) hand(stop context.Context, page driver.Page) bool {
	select {
	case r.term.pages <- page:
	case <-stop.Done():
		return false
	}
	if r.term.relay.cfg.ReadAhead == NoReadAhead {
		r.awaitDelivery(stop)
	}
	return true
}

func (r *reader) awaitDelivery(stop context.Context) {
	select {
	case <-r.term.delivered:
	case <-stop.Done():
	}
}

// poll waits for d, for a wake or for the end of stop. A nil channel of wakes never wakes. A wake
// can arrive before the rows are visible (a change log rings before the commit), so the waits
// start from PollMin after it.
func (r *reader) poll(stop context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	r.slept = 0
	select {
	case <-timer.C:
		r.slept = d
	case <-r.term.wakes:
		r.idle.Reset()
	case <-stop.Done():
	}
}

// longSleep is a wait after which a message without a wake may be late.
const longSleep = 100 * time.Millisecond

// foundByPolling logs once that messages are late because there are no wakes for them.
func (r *Relay) foundByPolling(ctx context.Context) {
	r.polled.Do(func() {
		r.log.InfoContext(ctx, "a message was found by polling, late by up to the time between two reads: run the outbox's notifier beside the producers, or a tail, to have them found at once")
	})
}
