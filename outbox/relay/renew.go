package relay

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
)

// renew renews the lease in time until done is closed. It ends work if the lease is lost, or was
// not renewed by LeaseMargin before its end: from then on another relay may take over.
func (t *term) renew(work context.Context, done <-chan struct{}) error {
	cfg := &t.relay.cfg
	remaining, _ := t.lease.state()
	wait := max(remaining-cfg.Lease+cfg.renewEvery(), 0) // sooner if the claim took long
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
		err := t.renewOnce(work)
		remaining, _ = t.lease.state()
		switch {
		case err == nil:
			wait = cfg.renewEvery()
			t.relay.inspect(work)
		case errors.Is(err, driver.ErrLeaseLost), remaining <= cfg.LeaseMargin:
			t.lose(driver.ErrLeaseLost)
			return driver.ErrLeaseLost
		default:
			wait = min(cfg.Lease/10, remaining-cfg.LeaseMargin)
		}
	}
}

// renewOnce requests an extension of the lease. Work ends LeaseMargin before the lease does even
// if the source ignores its context, for example while it waits for another call that hangs.
func (t *term) renewOnce(work context.Context) error {
	cfg := &t.relay.cfg
	remaining, _ := t.lease.state()
	ctx, cancel := context.WithTimeout(work, remaining-cfg.LeaseMargin)
	defer cancel()
	defer time.AfterFunc(remaining-cfg.LeaseMargin, func() { t.lose(driver.ErrLeaseLost) }).Stop()
	asked := time.Now()
	err := failpoint.Inject(ctx, failpoint.RelayBeforeRenew)
	if err == nil {
		err = t.session.Renew(ctx, cfg.Lease)
	}
	if err != nil {
		if work.Err() == nil {
			t.relay.onFault(work, "renew", err)
		}
		return err
	}
	t.relay.onAnswer(work)
	t.lease.extend(asked.Add(cfg.Lease))
	return nil
}
