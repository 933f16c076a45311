package dedupe

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
)

// run is one run of a handler under a lease.
type run struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the keeper has ended
	over   chan struct{} // closed when the handler has returned
}

type runKey struct{}

// Run describes a run to its handler.
type Run struct {
	// Key is the message.
	Key Key
	// Token is unique to the run. It is not an idempotency key: that is Key.ID.
	Token string
	// Attempt counts the runs of the message, from 1, and only grows. A remote system can compare it as a
	// fencing token. It is 0 without a claim (Config.FailOpen).
	Attempt int
	// Takeover is set if an earlier run's lease ran out: its effect may have happened.
	Takeover bool

	by *Processor
}

// FromContext returns the run that ctx belongs to, and false outside of one.
func FromContext(ctx context.Context) (Run, bool) {
	r, ok := ctx.Value(runKey{}).(Run)
	return r, ok
}

// hold begins a run whose lease was asked for at asked, and keeps the lease until
// end is called. The returned context ends with the lease.
func (p *Processor) hold(ctx context.Context, key Key, token string, asked time.Time) (context.Context, *run) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{cancel: cancel, done: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(r.done)
		p.keep(ctx, r, key, token, asked.Add(p.cfg.Lease))
	}()
	return ctx, r
}

// end stops keeping the lease and waits for it.
func (r *run) end() {
	close(r.over)
	<-r.done
	r.cancel(nil)
}

// keep extends the lease after every third of it. Deadlines are measured on the monotonic clock
// from before the store was asked, so they end before the store's (D7).
func (p *Processor) keep(ctx context.Context, r *run, key Key, token string, deadline time.Time) {
	wait := max(time.Until(deadline)-p.cfg.Lease*2/3, 0)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-r.over:
			timer.Stop()
			return
		case <-timer.C:
		}
		asked := time.Now()
		switch err := p.extend(ctx, r, key, token, deadline.Add(-p.cfg.Margin)); {
		case err == nil:
			deadline = asked.Add(p.cfg.Lease)
			wait = p.cfg.Lease / 3
		case isFenced(err), time.Until(deadline) <= p.cfg.Margin:
			r.cancel(ErrLeaseLost)
			return
		default:
			wait = min(p.cfg.Lease/10, max(time.Until(deadline)-p.cfg.Margin, 0))
		}
	}
}

// extend extends the lease, and ends the run at limit even if the store does not answer.
func (p *Processor) extend(ctx context.Context, r *run, key Key, token string, limit time.Time) error {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // at limit, or once the answer is there
		if time.Until(limit) <= 0 {
			r.cancel(ErrLeaseLost)
		}
	})
	defer stop()
	released := make(chan struct{})
	defer close(released)
	go func() { // the end of the handler must not wait for a hanging store
		select {
		case <-r.over:
			cancel()
		case <-released:
		}
	}()
	if err := failpoint.Inject(ctx, failpoint.DedupeExtendFail); err != nil {
		return err
	}
	return p.store.Extend(ctx, key, token, p.cfg.Lease)
}
