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
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox/driver"
)

// term is the time of one relay under one lease. Three goroutines share it: a
// reader that fetches pages ahead, a sender that delivers them one at a time
// and settles them, and a renewer that renews the lease or, failing that, ends
// the term before another relay can take over.
type term struct {
	relay   *Relay
	session driver.Session
	retry   *jitter.Backoff
	wakes   <-chan struct{}
	once    bool

	exact   *exactlyOnce // nil where the sink is not transactional
	lease   lease
	pages   chan driver.Page
	settled chan struct{} // rung after each Advance; holds one ring
	drained atomic.Bool   // once: the reader saw the end, with all settled
	acked   atomic.Int64
	slot    int

	// The sender's goroutine owns these.
	breakers  *breakers
	holder    driver.Holder // nil where records cannot be set aside
	heldKeys  map[driver.Key]struct{}
	held      int                    // records that are held, as far as is known
	retries   map[int64]pendingRetry // by Seq
	dueAt     time.Time              // of the next look for held records that are due
	dueMore   bool                   // some are due, as far as is known
	dueCost   time.Duration          // of the last look
	full      bool                   // nothing more can be set aside
	counted   time.Time              // when held was last counted, not reckoned
	heldBlind time.Time              // a page was last set aside without a sign that others answer

	// What State tells.
	since        time.Time
	oldest       atomic.Pointer[handView]
	heldView     atomic.Pointer[heldView]
	openBreakers atomic.Pointer[[]BreakerState]
}

func newTerm(r *Relay, s driver.Session, deadline time.Time) *term {
	t := &term{
		relay:   r,
		session: s,
		retry:   &jitter.Backoff{Min: r.cfg.BackoffMin, Max: r.cfg.BackoffMax},
		lease:   lease{deadline: deadline, extended: make(chan struct{})},
		pages:   make(chan driver.Page, max(r.cfg.ReadAhead, 0)),
		settled: make(chan struct{}, 1),
		since:   time.Now(),
	}
	if slotted, ok := s.(driver.Slotted); ok {
		t.slot = slotted.Slot()
	}
	return t
}

// run relays until ctx ends (nil), or until the first error.
//
// Two contexts: when stop ends, nothing new is begun. work is what calls run
// under: it outlives stop by most of DrainTimeout (the rest is for the release),
// and ends at once with the lease.
func (t *term) run(ctx context.Context) error {
	stop, halt := context.WithCancel(ctx)
	defer halt()
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer t.boundDrain(stop, cancel)()

	t.breakers = newBreakers(t.relay, &t.openBreakers)
	t.relay.watch.enter(t)
	defer t.relay.watch.leave(t)
	err := failpoint.Inject(ctx, failpoint.RelayLeaseAcquired)
	if err == nil {
		err = t.deliverExactlyOnce()
	}
	if err != nil {
		return t.end(ctx, err)
	}
	var first firstError
	fail := func(err error) {
		if err != nil {
			first.set(err)
			halt()
		}
	}
	var flow, renewer sync.WaitGroup
	done := make(chan struct{})
	flow.Go(func() { defer close(t.pages); fail(t.begin(stop, work)) })
	flow.Go(func() { fail(t.send(stop, work)) })
	renewer.Go(func() { fail(t.renew(work, cancel, done)) })
	flow.Wait()
	close(done)
	renewer.Wait()

	err = first.get()
	if cause := context.Cause(work); cause != nil && (err == nil || ctx.Err() != nil || errors.Is(cause, driver.ErrLeaseLost)) {
		err = cause // the lease was lost or draining took too long: all else follows from it
	}
	if errors.Is(err, driver.ErrSlotClosed) {
		return errors.Join(t.end(ctx, nil), driver.ErrSlotClosed)
	}
	return t.end(ctx, err)
}

// releaseTime is the part of DrainTimeout that is kept for the release.
func (t *term) releaseTime() time.Duration {
	return t.relay.cfg.DrainTimeout / 4
}

// boundDrain ends work when stop has ended and DrainTimeout is over, less the
// time for the release. The returned function undoes it.
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

// end gives up the lease and says why the term ended; nil for a clean stop.
func (t *term) end(ctx context.Context, err error) error {
	r := t.relay
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.releaseTime())
	defer cancel()
	if rerr := t.session.Release(ctx); rerr != nil {
		r.onError(ctx, "release", rerr)
		if ctx.Err() != nil {
			rerr = fmt.Errorf("%w: release: %w", ErrDrainTimeout, rerr)
		}
		err = errors.Join(err, rerr)
	}
	r.log.InfoContext(ctx, "lease given up", slog.Int64("epoch", t.session.Epoch()), slog.Any("error", err))
	r.onLease(ctx, t.session.Epoch(), false, err)
	return err
}

// fault reports err of operation, unless it only says that work has ended.
func (t *term) fault(work context.Context, operation string, err error) error {
	if work.Err() != nil {
		return context.Cause(work)
	}
	t.relay.onError(work, operation, err)
	return err
}

// firstError keeps the first error it is given.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
