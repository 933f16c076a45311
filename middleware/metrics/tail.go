package metrics

import "sync/atomic"

// Tail observes the tail of a relay's source. Packages such as pgmetrics tell it of their
// hooks' events. It is safe for concurrent use.
type Tail struct{ follows atomic.Bool }

// Tail returns an observer of a tail of the group's source. Call it if there is one: it is shown
// from then on.
func (r *Relay) Tail() *Tail {
	t := &Tail{}
	r.m.show(func(show func(reading)) {
		show(reading{relayTail, [3]string{r.outbox, r.group}, yes(t.follows.Load())})
	})
	return t
}

// Follows notes whether the tail follows from now on.
func (t *Tail) Follows(follows bool) { t.follows.Store(follows) }
