package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// progress is how far an effect has come.
type progress int

const (
	answered progress = iota // it has happened
	blocked                  // it waits for something to change
	more                     // a part has happened, another follows
)

// call is one call that an engine makes, as the scheduler sees it.
type call struct {
	node   *Node
	op     op
	detail string
	ctx    context.Context //nolint:containedctx // the caller's
	done   chan struct{}

	// effect performs the call, in the scheduler.
	effect func() (progress, error)
	// unheard is called if the caller never learns of the effect. It closes what the effect has opened. May
	// be nil.
	unheard func()

	// The scheduler owns these fields. The caller reads err once done is closed.
	fate Fault
	slow bool // if fate is Stall: the answer takes long, not the effect
	err  error

	// Guarded by World.mu.
	stubborn bool // the caller does not leave although its context has ended
	left     bool // the caller has gone
	begun    bool // some of the effect has happened
}

// call makes a call and waits for its end, or the end of ctx.
func (n *Node) call(ctx context.Context, o op, detail string, effect func() (progress, error), unheard func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-n.gone:
		return errGone
	default:
	}
	c := &call{node: n, op: o, detail: detail, ctx: ctx, done: make(chan struct{}), effect: effect, unheard: unheard}
	n.w.arrive(c)
	select {
	case <-c.done:
		return c.err
	case <-n.gone:
		return n.w.leave(c, errGone)
	case <-ctx.Done():
		if err := n.w.leave(c, ctx.Err()); err != nil {
			return err
		}
	}
	select {
	case <-c.done:
		return c.err
	case <-n.gone:
		return n.w.leave(c, errGone)
	}
}

// do makes a call whose effect happens at once and opens nothing.
func (n *Node) do(ctx context.Context, o op, detail string, effect func() error) error {
	return n.call(ctx, o, detail, func() (progress, error) { return answered, effect() }, nil)
}

// arrive hands c to the scheduler.
func (w *World) arrive(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrivals = append(w.arrivals, c)
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// leave records that the caller leaves, with err. It returns nil if the caller must stay.
func (w *World) leave(c *call, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.stubborn && !errors.Is(err, errGone) {
		return nil
	}
	c.left = true
	return err
}

// hasLeft reports whether the caller of c no longer waits.
func (w *World) hasLeft(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return c.left
}

// admit decides the fate of the calls that have arrived, in an order that does not
// depend on which goroutine came first.
func (w *World) admit() {
	w.mu.Lock()
	// A caller that leaves at the instant of its arrival counts as not having arrived: the order
	// depends on which goroutine was first.
	arrived := slices.DeleteFunc(w.arrivals, func(c *call) bool { return c.left })
	w.arrivals = nil
	w.mu.Unlock()
	slices.SortStableFunc(arrived, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.node.place, b.node.place), cmp.Compare(a.op.name, b.op.name), cmp.Compare(a.detail, b.detail))
	})
	for _, c := range arrived {
		if c.fate = w.fate(c.op); c.fate != "" {
			w.amiss++
		}
		w.step(c, "admitted")
		if c.op.admitted != nil {
			c.op.admitted()
		}
		if c.fate == Stall && c.op.stubborn {
			w.mu.Lock()
			c.stubborn = true
			w.mu.Unlock()
		}
		w.after(w.delay(c), func() { w.apply(c) })
	}
}

// delay returns the time until c takes effect.
func (w *World) delay(c *call) time.Duration {
	if c.fate == Stall {
		if c.slow = w.choose(3) == 2; !c.slow {
			return w.between(leaseTime/3, 2*leaseTime)
		}
	}
	return c.op.takes + w.latency()
}

// back returns the time that the answer of c takes.
func (w *World) back(c *call) time.Duration {
	if c.slow {
		return w.between(leaseTime/3, 2*leaseTime)
	}
	return w.latency()
}

// apply performs c, or another part of it.
func (w *World) apply(c *call) {
	left := w.hasLeft(c)
	if left && !w.lands(c) {
		w.step(c, "dropped")
		w.unheard(c)
		w.over(c)
		return
	}
	if c.fate == Refuse {
		c.err = errRefused
		w.step(c, "refused")
		w.unheard(c)
		w.after(w.latency(), func() { w.release(c) })
		return
	}
	p, err := c.effect()
	w.happened(c)
	switch p {
	case blocked:
		w.waiting = append(w.waiting, c)
	case more:
		w.after(w.latency(), func() { w.apply(c) })
	case answered:
		w.step(c, "applied")
		if c.err = err; err == nil && c.fate == LoseAnswer {
			c.err = errLost
			w.unheard(c)
		}
		w.after(w.back(c), func() { w.release(c) })
	}
}

// happened orders the effect before any later action of a caller that leaves without waiting for
// the answer.
func (w *World) happened(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.begun = true
}

// lands reports whether a call takes effect although its caller no longer waits.
func (w *World) lands(c *call) bool {
	return c.op.late && (c.node.dead || !c.op.stubborn) && w.unlucky(3, Zombie)
}

func (w *World) unheard(c *call) {
	if c.unheard != nil {
		c.unheard()
	}
}

// release returns the answer of c to its caller.
func (w *World) release(c *call) {
	w.over(c)
	if w.hasLeft(c) {
		if c.err == nil {
			w.unheard(c)
		}
		return
	}
	w.step(c, "answered")
	close(c.done)
	w.roused = true
}

// over counts c as finished.
func (w *World) over(c *call) {
	if c.fate != "" {
		w.amiss--
	}
}

// step records the progress of c.
func (w *World) step(c *call, how string) {
	note := how
	switch {
	case how == "admitted":
		note += " " + string(c.fate)
	case c.err != nil:
		note += ": " + c.err.Error()
	}
	w.note(Event{What: step, Node: c.node.name, ID: c.op.name, Key: c.detail, Note: note})
}
