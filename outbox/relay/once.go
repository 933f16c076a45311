package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// RunOnce relays everything that was committed before it was called and
// returns the number of records that the sink has acknowledged. It is for
// scheduled jobs and tests. Where the Source is Sharded it leads all slots that
// are free, at the same time.
//
// It returns ErrLeaseHeld at once while other relays lead all slots, and any error
// of the source. Failures of the sink are tried again with backoff until ctx ends;
// then the error of ctx is returned. Records that Config.Policies park or set aside
// for good are not waited for, nor are those that an earlier relay has set aside to be
// tried again at a time that has not come. Records up to the first that was not acknowledged
// or set aside are settled in every case.
func (r *Relay) RunOnce(ctx context.Context) (int, error) {
	if !r.running.CompareAndSwap(false, true) {
		return 0, ErrAlreadyRunning
	}
	defer r.running.Store(false)
	r.watch.run(true)
	defer r.watch.run(false)
	if err := r.check(ctx); err != nil {
		return 0, err
	}
	c := newSlotLeader(r)
	acked := 0
	for {
		n, err := c.once(ctx)
		acked += n
		if !errors.Is(err, driver.ErrSlotClosed) {
			return acked, c.endAll(ctx, err)
		}
	}
}

// once drains all slots that are free. ErrSlotClosed means that there are others
// now.
func (c *slotLeader) once(ctx context.Context) (int, error) {
	c.shared = time.Time{}
	if err := c.refreshShare(ctx); err != nil {
		return 0, err
	}
	var terms []*term
	var err error
	for len(terms) < c.share.Slots {
		var t *term
		if t, err = c.relay.acquire(ctx); err != nil {
			break
		}
		t.once = true
		terms = append(terms, t)
	}
	if len(terms) == 0 {
		return 0, err
	}
	if errors.Is(err, driver.ErrLeaseHeld) {
		err = nil // another relay drains those
	}
	errs := make([]error, len(terms))
	var all sync.WaitGroup
	for i, t := range terms {
		all.Go(func() {
			errs[i] = t.run(ctx)
			if errs[i] == nil && !t.drained.Load() {
				errs[i] = ctx.Err()
			}
		})
	}
	all.Wait()
	acked := 0
	for _, t := range terms {
		acked += int(t.acked.Load())
	}
	return acked, errors.Join(errors.Join(errs...), err)
}
