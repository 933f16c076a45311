package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
)

// fence is the relay's own idea of how long its lease lasts. It counts on the
// monotonic clock from before the lease was asked for, so that it ends before
// the database's lease does (rule R2).
type fence struct {
	mu       sync.Mutex
	deadline time.Time
	moved    chan struct{} // closed and replaced by each extend
}

func newFence(deadline time.Time) *fence {
	return &fence{deadline: deadline, moved: make(chan struct{})}
}

func (f *fence) extend(deadline time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = deadline
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *fence) state() (remaining time.Duration, moved <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Until(f.deadline), f.moved
}

// await returns once at least need is left on the lease, or ctx has ended.
func (f *fence) await(ctx context.Context, need time.Duration) error {
	for {
		remaining, moved := f.state()
		if remaining >= need {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// keep renews the lease in good time until done. It ends work when the
// lease is lost, or when it has not been renewed by LeaseMargin before it ends:
// another relay may take over from then on.
func (t *term) keep(work context.Context, cancel context.CancelCauseFunc, done <-chan struct{}) error {
	cfg := t.relay.cfg
	remaining, _ := t.fence.state()
	wait := max(remaining-cfg.Lease+cfg.renewEvery(), 0) // sooner where acquiring has taken long
	for {
		timer := time.NewTimer(wait)
		select {
		case <-done:
			timer.Stop()
			return nil
		case <-work.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		err := t.renewOnce(work, cancel)
		remaining, _ = t.fence.state()
		switch {
		case err == nil:
			wait = cfg.renewEvery()
			t.relay.inspect(work)
		case errors.Is(err, driver.ErrLeaseLost), remaining <= cfg.LeaseMargin:
			cancel(driver.ErrLeaseLost)
			return driver.ErrLeaseLost
		default:
			wait = min(cfg.Lease/10, remaining-cfg.LeaseMargin)
		}
	}
}

// renewOnce asks for another lease. Work ends LeaseMargin before the lease does
// even where the source does not answer its context, such as behind another
// call that hangs.
func (t *term) renewOnce(work context.Context, lose context.CancelCauseFunc) error {
	cfg := t.relay.cfg
	remaining, _ := t.fence.state()
	ctx, cancel := context.WithTimeout(work, remaining-cfg.LeaseMargin)
	defer cancel()
	defer time.AfterFunc(remaining-cfg.LeaseMargin, func() { lose(driver.ErrLeaseLost) }).Stop()
	asked := time.Now()
	err := failpoint.Inject(ctx, failpoint.RelayBeforeRenew)
	if err == nil {
		err = t.session.Renew(ctx, cfg.Lease)
	}
	if err != nil {
		if work.Err() == nil {
			t.relay.onError(work, "renew", err)
		}
		return err
	}
	t.relay.watch.answered()
	t.fence.extend(asked.Add(cfg.Lease))
	return nil
}
