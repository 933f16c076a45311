package relay

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// slotLeader leads slots of a source: as many as this relay's fair share, each in its
// own term. A source that is not Sharded has one slot. The goroutine of run owns a
// slotLeader; only the terms run in others.
type slotLeader struct {
	relay   *Relay
	checked bool // the source's Check has passed
	retry   jitter.Backoff
	asked   int  // how often the lease was held since a term began
	hurried bool // a term was cut off, and the next one began at once; nothing was acknowledged since
	wakes   wakeFanout

	sharded driver.Sharded // nil if the source is not Sharded
	share   driver.Share
	shared  time.Time // when share was requested; zero requests it again at once
	joined  bool      // other relays count this one

	slots []*ledSlot // oldest first
	ended chan termEnd
}

// ledSlot is a slot with the term that runs for it.
type ledSlot struct {
	term      *term
	cancel    context.CancelFunc
	over      chan struct{} // closed when the term has ended
	releasing bool          // the term was told to end
	displaced bool          // the relay leads the slot anew
}

// termEnd is the result of a term.
type termEnd struct {
	slot *ledSlot
	err  error
}

func newSlotLeader(r *Relay) *slotLeader {
	l := &slotLeader{
		relay: r, share: driver.Share{Slots: 1, Fair: 1}, ended: make(chan termEnd),
		retry: r.cfg.backoff(),
	}
	l.sharded, _ = r.source.(driver.Sharded)
	r.policies.begin()
	return l
}

// run leads until ctx ends or the source is unusable.
func (l *slotLeader) run(ctx context.Context) error {
	listening, cancel := context.WithCancel(ctx)
	wakes := l.relay.source.Wakes(listening) // before the first read, so that no wake is missed
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		l.wakes.forward(listening, wakes)
	}()
	defer func() { cancel(); <-forwarded }()

	var err error
	for ctx.Err() == nil && err == nil {
		var wait time.Duration
		if wait, err = l.fillShare(ctx); err == nil {
			err = l.await(ctx, wait)
		}
	}
	if errors.Is(err, driver.ErrSourceUnusable) {
		l.relay.alarm(ctx, outbox.AlarmEvent{Kind: AlarmSourceUnusable, Detail: err.Error()})
	}
	return l.endAll(ctx, err)
}

// fillShare adjusts the number of terms to the fair share, and returns how long to wait before
// the next call. It only returns errors that end Run.
func (l *slotLeader) fillShare(ctx context.Context) (time.Duration, error) {
	r := l.relay
	r.watch.forget(&r.cfg)
	if !l.checked {
		if err := r.check(ctx); err != nil {
			return l.retry.Next(), fatal(err)
		}
		l.checked = true
	}
	if err := l.refreshShare(ctx); err != nil {
		return l.retry.Next(), fatal(err)
	}
	l.releaseSurplus()
	for len(l.slots) < l.share.Fair && ctx.Err() == nil {
		t, err := r.acquire(ctx)
		switch {
		case errors.Is(err, driver.ErrLeaseHeld):
			l.asked++
			return l.untilShare(r.standby(err, l.asked-1)), nil
		case err != nil:
			r.logRestart(ctx, err)
			return l.retry.Next(), fatal(err)
		}
		l.start(ctx, t)
	}
	return l.untilShare(r.cfg.Lease), nil
}

// start runs a term. A former term of its slot that has not noticed yet that its session is gone
// ends first: to the sink both are the same relay, so a fence would not keep the former one from
// sending.
func (l *slotLeader) start(ctx context.Context, t *term) {
	var former []*ledSlot
	for _, slot := range l.slots {
		if slot.term.slot != t.slot {
			continue
		}
		former = append(former, slot)
		if !slot.displaced {
			slot.displaced = true
			slot.term.displace()
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	slot := &ledSlot{term: t, cancel: cancel, over: make(chan struct{})}
	l.slots = append(l.slots, slot)
	l.asked = 0
	t.wakes = l.wakes.subscribe(t)
	go func() {
		for _, f := range former {
			<-f.over
		}
		err := t.run(ctx)
		close(slot.over)
		l.ended <- termEnd{slot, err}
	}()
}

// await waits for d, for the end of a term or for the end of ctx. It only returns errors that end
// Run. A term that has ended already is handled first, since its error may ask for a wait before
// another term begins.
func (l *slotLeader) await(ctx context.Context, d time.Duration) error {
	select {
	case e := <-l.ended:
		return l.handleEnd(ctx, e)
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-timer.C:
		return nil
	case e := <-l.ended:
		return l.handleEnd(ctx, e)
	}
}

// handleEnd removes a term that has ended. If it ended by an error, handleEnd waits, so that the
// next term does not begin at once. A term whose session was cut off says nothing about the next
// one, which begins without a wait, but only once; after that the wait is at most maxCutWait.
func (l *slotLeader) handleEnd(ctx context.Context, e termEnd) error {
	l.remove(e.slot)
	if e.slot.term.acked.Load() > 0 {
		l.retry.Reset()
		l.hurried = false
	}
	switch {
	case ctx.Err() != nil:
		return stopError(e.err)
	case e.err == nil || errors.Is(e.err, driver.ErrSlotClosed):
		l.shared = time.Time{} // the number of slots may have changed
		return nil
	}
	l.relay.logRestart(ctx, e.err)
	if err := fatal(e.err); err != nil {
		return err
	}
	if !e.slot.term.cut {
		return l.await(ctx, l.retry.Next())
	}
	l.shared = time.Time{} // others may no longer count this relay
	if !l.hurried {
		l.hurried = true
		return nil
	}
	return l.await(ctx, min(l.retry.Next(), maxCutWait))
}

// maxCutWait bounds the wait after a term whose session was cut off.
const maxCutWait = 500 * time.Millisecond

func (l *slotLeader) remove(slot *ledSlot) {
	slot.cancel()
	l.wakes.unsubscribe(slot.term)
	if i := slices.Index(l.slots, slot); i >= 0 {
		l.slots = slices.Delete(l.slots, i, i+1)
	}
}

// endAll ends all terms, waits for them and leaves the other relays. It returns what Run
// returns: err, or an error of the drain.
func (l *slotLeader) endAll(ctx context.Context, err error) error {
	for _, slot := range l.slots {
		slot.cancel()
	}
	for len(l.slots) > 0 {
		e := <-l.ended
		l.remove(e.slot)
		if stop := stopError(e.err); ctx.Err() != nil && err == nil {
			err = stop
		}
	}
	l.leave(ctx)
	return err
}

// logRestart logs that a term has failed, or that none could begin. The error has been logged as
// a warning already.
func (r *Relay) logRestart(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.log.InfoContext(ctx, "relay starts over", slog.Any("error", err))
	}
}

// fatal returns err if it ends Run, else nil.
func fatal(err error) error {
	if errors.Is(err, driver.ErrSourceUnusable) {
		return err
	}
	return nil
}

// stopError returns err if Run returns it although its context has ended, else nil.
func stopError(err error) error {
	if errors.Is(err, ErrDrainTimeout) {
		return err
	}
	return nil
}
