package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// store stores the position after the first n records of page and sets those of holdings aside,
// in one write.
func (h *heldRecords) store(work context.Context, page driver.Page, n int, holdings []driver.Holding) error {
	parks := slices.ContainsFunc(holdings, func(h driver.Holding) bool { return h.Fate == driver.FatePark })
	err := failpoint.Inject(work, failpoint.RelayAckedBeforeAdvance)
	if err == nil {
		err = parking(work, parks, func() error { return h.holder.Hold(work, page, n, holdings) })
	}
	if err != nil {
		return h.s.term.fault(work, "hold", err)
	}
	events := make([]HoldEvent, len(holdings))
	now := time.Now()
	for i := range holdings {
		holding := &holdings[i]
		r := &page.Records[holding.Index]
		events[i] = HoldEvent{Record: r, Fate: holding.Fate, Attempts: len(holding.Attempts), Reason: holding.Reason, Error: lastError(holding.Attempts)}
		h.noteStored(r, holding, now)
	}
	h.schedule(now)
	h.show()
	h.s.relay.onHold(work, events)
	return nil
}

// noteStored records that r was set aside.
func (h *heldRecords) noteStored(r *outbox.Record, holding *driver.Holding, now time.Time) {
	if isFinal(holding.Fate) {
		return
	}
	if holding.Fate == driver.FateRetry {
		h.retries[r.Seq] = pendingRetry{at: now.Add(holding.RetryIn), topic: r.Topic, created: r.CreatedAt, held: now}
	}
	h.count++
	if r.Key != "" {
		h.keys[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}
	}
}

// parking calls f between the failure points of parking, if f parks records.
func parking(ctx context.Context, parks bool, f func() error) error {
	if !parks {
		return f()
	}
	err := failpoint.Inject(ctx, failpoint.RelayBeforePark)
	if err == nil {
		err = f()
	}
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.RelayAfterPark)
	}
	return err
}
