package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
)

// term is the time of one relay under one lease. Three goroutines share it: the reader
// fetches pages ahead, the sender delivers them, and the renewer renews the lease or, if
// it cannot, ends the term before another relay can take over.
// See design 4.1.
type term struct {
	relay   *Relay
	session driver.Session
	slot    int
	wakes   <-chan struct{}
	once    bool // the term ends as soon as everything is delivered that was committed before

	lease     lease
	lose      context.CancelCauseFunc // ends work
	displaced chan struct{}           // closed by displace
	reader    reader
	sender    sender
	pages     chan driver.Page          // from the reader to the sender
	delivered chan struct{}             // receives after each page that was delivered; holds one
	drained   atomic.Bool               // run once: the reader reached the end, and everything is delivered
	acked     atomic.Int64              // number of acknowledged records
	cut       bool                      // the session was over before the term; for callers that have waited for run
	noneHeld  atomic.Pointer[time.Time] // when a Read began that found nothing, with nothing set aside; nil if there is none

	// Shown by State.
	since        time.Time
	oldest       atomic.Pointer[handView]
	heldView     atomic.Pointer[heldView]
	openBreakers atomic.Pointer[[]BreakerState]
}

func newTerm(r *Relay, s driver.Session, deadline time.Time) *term {
	t := &term{
		relay:     r,
		session:   s,
		slot:      slotOf(s),
		lease:     lease{deadline: deadline, extended: make(chan struct{})},
		pages:     make(chan driver.Page, max(r.cfg.ReadAhead, 0)),
		delivered: make(chan struct{}, 1),
		displaced: make(chan struct{}),
		since:     time.Now(),
	}
	t.reader, t.sender = newReader(t), newSender(t)
	return t
}

// run relays until ctx ends, and returns nil then, or until the first error.
//
// It works with two contexts. When stop ends, nothing new is begun. The calls run under
// work: it outlives stop by most of DrainTimeout (the rest is for the release), and ends
// at once with the lease.
func (t *term) run(ctx context.Context) error {
	stop, halt := context.WithCancel(ctx)
	defer halt()
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	t.lose = cancel
	defer t.boundDrain(stop, cancel)()
	go func() {
		select {
		case <-t.displaced:
			cancel(errDisplaced)
		case <-work.Done():
		}
	}()

	t.relay.watch.enter(t)
	defer t.relay.watch.leave(t)
	t.relay.noteServer(ctx, t.session)
	err := failpoint.Inject(ctx, failpoint.RelayLeaseAcquired)
	if err == nil {
		err = t.relay.pauses.refresh(work, t.relay.source, t.relay.cfg.PublishTimeout)
	}
	if err == nil {
		t.sender.mode, err = t.relay.newMode(&t.sender)
	}
	if err != nil {
		return t.end(ctx, err)
	}
	err = t.runGoroutines(stop, work, halt)
	if cause := context.Cause(work); cause != nil && (err == nil || ctx.Err() != nil || errors.Is(cause, driver.ErrLeaseLost)) {
		err = cause // the lease was lost or the drain took too long: all other errors are consequences
	}
	if errors.Is(err, driver.ErrSlotClosed) {
		return errors.Join(t.end(ctx, nil), driver.ErrSlotClosed)
	}
	if errors.Is(err, errLeft) {
		return errors.Join(t.end(ctx, nil), errLeft)
	}
	return t.end(ctx, err)
}

// errDisplaced ends a term that has not noticed yet that its lease is lost.
var errDisplaced = fmt.Errorf("%w: this relay leads the slot anew", driver.ErrLeaseLost)

// displace ends the term at once, or as soon as it begins. It is called once.
func (t *term) displace() { close(t.displaced) }

// runGoroutines runs the reader, the sender and the renewer until all have ended, and
// returns their first error. An error calls halt, which ends stop; a lost lease ends work.
func (t *term) runGoroutines(stop, work context.Context, halt context.CancelFunc) error {
	var first firstError
	fail := func(err error) {
		if err != nil {
			first.set(err)
			halt()
		}
	}
	var flow, renewer sync.WaitGroup
	done := make(chan struct{})
	flow.Go(func() { defer close(t.pages); fail(t.reader.run(stop, work)) })
	flow.Go(func() { fail(t.sender.run(stop, work)) })
	renewer.Go(func() { fail(t.renew(work, done)) })
	flow.Wait()
	close(done)
	renewer.Wait()
	return first.get()
}

// releaseTime is the part of DrainTimeout that is reserved for the release.
func (t *term) releaseTime() time.Duration {
	return t.relay.cfg.DrainTimeout / 4
}

// boundDrain ends work when stop has ended and DrainTimeout is over, less the time for the
// release. The returned function cancels that.
func (t *term) boundDrain(stop context.Context, cancel context.CancelCauseFunc) func() {
	var mu sync.Mutex
	var timer *time.Timer
	undo := context.AfterFunc(stop, func() {
		mu.Lock()
		defer mu.Unlock()
		timer = time.AfterFunc(t.relay.cfg.DrainTimeout-t.releaseTime(), func() { cancel(ErrDrainTimeout) })
	})
	return func() {
		undo()
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
	}
}

// noteIdle records the additional findings of an empty Read that began at asked.
func (t *term) noteIdle(asked time.Time, idle *driver.Idle) {
	if idle == nil {
		return
	}
	t.relay.pauses.note(asked, idle.Paused)
	if idle.NoneHeld {
		t.noneHeld.Store(&asked)
	} else {
		t.noneHeld.Store(nil)
	}
}

// lost returns an error if the session has found out that it is over.
func (t *term) lost() error {
	if w, ok := t.session.(driver.Watched); ok {
		return w.Lost()
	}
	return nil
}

// end releases the lease and returns why the term ended; nil after a clean stop.
func (t *term) end(ctx context.Context, err error) error {
	r := t.relay
	t.cut = t.lost() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.releaseTime())
	defer cancel()
	if rerr := t.session.Release(ctx); rerr != nil {
		r.onFault(ctx, "release", rerr)
		if ctx.Err() != nil {
			rerr = fmt.Errorf("%w: release: %w", ErrDrainTimeout, rerr)
		}
		err = errors.Join(err, rerr)
	}
	r.log.InfoContext(ctx, "lease given up", slog.Int64("epoch", t.session.Epoch()), slog.Any("error", err))
	r.onLease(ctx, t.session, false, err)
	return err
}

// fault reports err of operation to the hooks and returns it. If work has ended, err is only a
// consequence: fault then returns the cause.
func (t *term) fault(work context.Context, operation string, err error) error {
	if work.Err() != nil {
		return context.Cause(work)
	}
	t.relay.onFault(work, operation, err)
	t.standsStill(work, operation, err)
	return err
}
