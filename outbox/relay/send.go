package relay

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// send delivers pages one at a time, in order, and between them the held records
// that are due. Either is begun only while stop lasts and enough is left of the
// lease.
func (t *term) send(stop, work context.Context) error {
	if err := t.loadHeld(work); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := t.dueIfTime(stop, work); err != nil {
			return err
		}
		var due <-chan time.Time
		if t.holder != nil && !isOver(stop) {
			timer.Reset(time.Until(t.dueAt))
			due = timer.C
		}
		page, ok, waited := t.nextPage(due)
		switch {
		case !ok:
			return t.finishHeld(stop, work)
		case waited:
			continue
		}
		if err := t.sendPage(stop, work, page); err != nil {
			return err
		}
	}
}

// nextPage waits for a page or, where that comes first, for due: waited is true
// then. A page that is there has its turn, since what was due has just had its own;
// ok is false behind the last page.
func (t *term) nextPage(due <-chan time.Time) (page driver.Page, ok, waited bool) {
	select {
	case page, ok = <-t.pages:
		return page, ok, false
	default:
	}
	select {
	case page, ok = <-t.pages:
		return page, ok, false
	case <-due:
		return driver.Page{}, true, true
	}
}

// sendPage delivers page, unless the relay is being stopped: what was not sent
// stays unsettled.
func (t *term) sendPage(stop, work context.Context, page driver.Page) error {
	if isOver(stop) {
		return nil
	}
	t.inHand(&page.Records[0])
	err := failpoint.Inject(work, failpoint.RelayBetweenPages)
	if err == nil {
		err = t.deliver(stop, work, page)
	}
	if err != nil {
		return err
	}
	if !isOver(stop) {
		t.inHand(nil)
	}
	select {
	case t.settled <- struct{}{}:
	default:
	}
	return nil
}

// deliver sends page until each of its records is acknowledged or set aside,
// settling what lies before the first other one as it goes. Within a key nothing
// is sent past an unsettled record (rule R1).
func (t *term) deliver(stop, work context.Context, page driver.Page) error {
	if t.exact != nil {
		return t.exact.deliver(stop, work, page)
	}
	if t.relay.cfg.Order == OrderTotal {
		return t.deliverInTotalOrder(stop, work, page)
	}
	d := &delivery{t: t, page: page}
	if t.undisturbed() {
		results, took, err := t.call(stop, work, page.Records)
		switch {
		case err == nil && firstFailure(results) == nil:
			t.breakers.lastAck = time.Now()
			return d.settle(work, len(page.Records))
		case err != nil && work.Err() != nil:
			return context.Cause(work)
		}
		d.begin()
		if err == nil {
			d.judge(work, slices.Clone(d.todo), page.Records, results, took)
		}
		if done, err := d.rest(stop, work, err); done || err != nil {
			return err
		}
		return d.run(stop, work)
	}
	d.begin()
	return d.run(stop, work)
}

// isOver says whether ctx has ended.
func isOver(ctx context.Context) bool { return ctx.Err() != nil }

// undisturbed reports whether nothing is held and no destination is out, so that a page can
// be sent as it is.
func (t *term) undisturbed() bool {
	return len(t.heldKeys) == 0 && t.breakers.openCount == 0
}

// advance settles the first n records of page.
func (t *term) advance(work context.Context, page driver.Page, n int) error {
	if err := failpoint.Inject(work, failpoint.RelayAckedBeforeAdvance); err != nil {
		return err
	}
	return t.session.Advance(work, page, n)
}

// call calls the sink once, as soon as enough is left of the lease. An error
// means that nothing is known of any record.
func (t *term) call(stop, work context.Context, records []outbox.Record) ([]outbox.Result, time.Duration, error) {
	if err := t.lease.await(work, t.relay.cfg.PublishTimeout); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(work, t.relay.cfg.PublishTimeout)
	defer cancel()
	if err := failpoint.Inject(ctx, failpoint.RelayLeaseLostWhileSending); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	results := t.relay.sink.Send(ctx, records)
	took := time.Since(began)
	if isOver(stop) {
		if err := failpoint.Inject(work, failpoint.RelayCloseMidBatch); err != nil {
			return nil, took, err
		}
	}
	if err := failpoint.Inject(work, failpoint.RelaySentNotAcked); err != nil {
		return nil, took, err
	}
	if len(results) != len(records) {
		return nil, took, fmt.Errorf("%w: %d for %d records", driver.ErrWrongResults, len(results), len(records))
	}
	t.relay.onPublish(ctx, records, results, took)
	if err := t.relay.watch.sent(results); err != nil {
		t.relay.log.DebugContext(ctx, "record not delivered", slog.Any("error", err))
	}
	return results, took, nil
}

// firstFailure returns the first error of results that says why: one of a record
// that was not sent only where there is no other.
func firstFailure(results []outbox.Result) error {
	var first error
	for i := range results {
		err := results[i].Err
		if err == nil {
			continue
		}
		if outbox.KindOf(err) != outbox.FailureNotSent {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
