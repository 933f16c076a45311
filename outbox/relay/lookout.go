package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// lookout asks the source about matters that concern all terms of a relay: what an operator has
// paused, every PollMax while there is a term, unless an empty Read has reported it since, and
// the time of the source's clock. It also registers the relay as alive, so that its policies
// apply. One goroutine per Run owns it. After an error the last known state applies.
type lookout struct {
	relay    *Relay
	pausable driver.Pausable // nil if the source is not Pausable
	clocked  driver.Clocked  // nil if the source is not Clocked
	askClock time.Time       // when to ask next
}

// startLookout starts the lookout. The returned function ends it and waits for that.
func (r *Relay) startLookout(ctx context.Context) (stop func()) {
	l := &lookout{relay: r}
	l.pausable, _ = r.source.(driver.Pausable)
	l.clocked, _ = r.source.(driver.Clocked)
	if l.pausable == nil && l.clocked == nil && r.policies.keeper == nil {
		return func() {}
	}
	// A term that drains still obeys pauses.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.run(ctx)
	}()
	return func() { cancel(); <-ended }
}

func (l *lookout) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		next := time.Now().Add(l.relay.cfg.PollMax)
		if l.pausable != nil && l.relay.watch.leads() {
			next = l.pauses(ctx, next)
		}
		if l.relay.policies.begun() || l.relay.watch.leads() {
			_ = l.relay.notePolicies(ctx) // it is reported, and tried again
		}
		l.clock(ctx)
		timer.Reset(time.Until(next))
	}
}

// pauses asks what is paused, unless that is known, and returns when to ask again: at next, or
// PollMax after the last answer.
func (l *lookout) pauses(ctx context.Context, next time.Time) time.Time {
	r := l.relay
	if due := r.pauses.known().Add(r.cfg.PollMax); due.After(time.Now()) {
		return due
	}
	if err := r.pauses.refresh(ctx, r.source, r.cfg.PublishTimeout); err != nil && ctx.Err() == nil {
		r.onFault(ctx, "paused", err)
	}
	return next
}

// clockEvery is how often the source's clock is read, and clockLooks how many times each: the
// shortest call is the most precise. They may take clockTimeout together, since pauses wait for
// them.
const (
	clockEvery   = time.Minute
	clockLooks   = 3
	clockTimeout = time.Second
)

// clock reads the source's clock, if it is time to.
func (l *lookout) clock(ctx context.Context) {
	if l.clocked == nil || time.Now().Before(l.askClock) {
		return
	}
	l.askClock = time.Now().Add(clockEvery)
	bounded, cancel := context.WithTimeout(ctx, min(clockTimeout, l.relay.cfg.PublishTimeout))
	defer cancel()
	var offset, shortest time.Duration
	for look := range clockLooks {
		o, took, err := l.look(bounded)
		if err != nil {
			if ctx.Err() == nil {
				l.relay.onFault(ctx, "clock", err)
			}
			return
		}
		if look == 0 || took < shortest {
			offset, shortest = o, took
		}
	}
	l.relay.watch.clock(offset)
}

// look returns by how much this machine's clock is ahead of the source's, assuming that it has
// answered half-way through the call.
func (l *lookout) look(ctx context.Context) (offset, took time.Duration, err error) {
	asked := time.Now()
	theirs, err := l.clocked.Now(ctx)
	took = time.Since(asked)
	return asked.Add(took / 2).Sub(theirs), took, err
}
