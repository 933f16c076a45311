package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// RunOnce relays everything that was committed before it was called and
// returns the number of records that the sink has acknowledged. It is for
// scheduled jobs and tests. If the Source is Sharded, RunOnce leads all free slots
// at the same time.
//
// It returns driver.ErrLeaseHeld at once if other relays lead all slots, and any error of the
// source. Failures of the sink are tried again with backoff until ctx ends; then RunOnce returns
// the error of ctx. It does not wait for the end of a pause, which only an operator knows: once
// nothing else is left, it returns an error that wraps ErrPaused. Nor does it wait for records
// that Config.Policies park or set aside for good, or that an earlier relay has set aside until a
// time that has not come. In every case the position is stored just before the first record that
// was neither acknowledged nor set aside.
func (r *Relay) RunOnce(ctx context.Context) (int, error) {
	if !r.running.CompareAndSwap(false, true) {
		return 0, fmt.Errorf("%w: the relay", outbox.ErrAlreadyRunning)
	}
	defer r.running.Store(false)
	r.watch.run(true)
	defer r.watch.run(false)
	defer r.startLookout(ctx)()
	if err := r.check(ctx); err != nil {
		return 0, err
	}
	l := newSlotLeader(r)
	acked := 0
	for {
		n, err := l.drainOnce(ctx)
		acked += n
		if !errors.Is(err, driver.ErrSlotClosed) {
			return acked, l.endAll(ctx, err)
		}
	}
}

// drainOnce drains all free slots. If it returns ErrSlotClosed, the source's slots have changed.
func (l *slotLeader) drainOnce(ctx context.Context) (int, error) {
	l.shared = time.Time{}
	if err := l.refreshShare(ctx); err != nil {
		return 0, err
	}
	var terms []*term
	var err error
	for len(terms) < l.share.Slots {
		var t *term
		if t, err = l.relay.acquire(ctx); err != nil {
			break
		}
		t.once = true
		terms = append(terms, t)
	}
	if len(terms) == 0 {
		return 0, err
	}
	if errors.Is(err, driver.ErrLeaseHeld) {
		err = nil // another relay drains the others
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
