package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Names of the leases. They are those of relay groups that nobody can have.
const (
	maintenanceLease = "_maintenance"
	delayedLease     = "_delayed"
)

// leasedTask is work that one process of many does at a time. Its lease keeps others from
// doing the same work; what it does is safe even where two do it.
type leasedTask struct {
	ob     *Outbox
	slot   pgwindow.Slot
	name   string
	ttl    time.Duration
	claims atomic.Int64
}

func newLeasedTask(ob *Outbox, lease string, ttl time.Duration) (*leasedTask, error) {
	name, err := newName()
	return &leasedTask{ob: ob, slot: pgwindow.Slot{Group: lease}, name: name, ttl: ttl}, err
}

// run claims the lease, runs work under it, and releases it. The context of work ends
// with the lease. It returns a *driver.LeaseHeldError while another one works.
func (d *leasedTask) run(ctx context.Context, work func(context.Context) error) error {
	asked := time.Now()
	n := d.claims.Add(1)
	former := pgwindow.Former{Prefix: d.name + "/", Last: n - 1} // those have returned
	lease, err := d.ob.window.Claim(ctx, d.ob.pool, d.slot, d.name+"/"+strconv.FormatInt(n, 10), former, d.ttl)
	if held, ok := errors.AsType[*pgwindow.HeldError](err); ok {
		return &driver.LeaseHeldError{Owner: held.Owner, Remaining: held.Remaining}
	}
	if err != nil {
		return describe(err)
	}
	defer d.release(ctx, lease)
	working, end := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	defer func() { <-kept }()
	defer end(nil)
	go func() {
		defer close(kept)
		end(d.keep(working, lease, asked.Add(d.ttl)))
	}()
	err = work(working)
	if cause := context.Cause(working); err != nil && errors.Is(cause, driver.ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// keep renews the lease until ctx ends or the lease is lost, which it returns.
func (d *leasedTask) keep(ctx context.Context, lease pgwindow.Lease, until time.Time) error {
	tick := time.NewTicker(d.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		asked := time.Now()
		bounded, cancel := context.WithTimeout(ctx, d.ttl/3)
		err := d.ob.window.Renew(bounded, d.ob.pool, lease, d.ttl)
		cancel()
		switch {
		case err == nil:
			until = asked.Add(d.ttl)
		case errors.Is(err, pgwindow.ErrLost), time.Until(until) < d.ttl/3:
			return fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
		}
	}
}

func (d *leasedTask) release(ctx context.Context, lease pgwindow.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := d.ob.window.Release(ctx, d.ob.pool, lease); err != nil {
		d.ob.cfg.Logger.WarnContext(ctx, "lease not given back, it will run out",
			slog.String("lease", d.slot.Group), slog.Any("error", err))
	}
}
