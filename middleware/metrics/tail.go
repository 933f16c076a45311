package metrics

import (
	"context"
	"sync/atomic"

	"github.com/leat-go/leat/outbox/driver"
)

// Tail observes the tail of a relay's source: give it to pgoutbox.TailConfig.Hooks. It is safe for
// concurrent use.
type Tail struct{ follows atomic.Bool }

var _ driver.TailHook = (*Tail)(nil)

// Tail returns an observer of a tail of the group's source. Call it only if there is a tail: it
// is shown from then on.
func (r *Relay) Tail() *Tail {
	t := &Tail{}
	r.m.show(func(show func(reading)) {
		show(reading{relayTail, [3]string{r.outbox, r.group}, yes(t.follows.Load())})
	})
	return t
}

// OnDriverTail implements driver.TailHook.
func (t *Tail) OnDriverTail(_ context.Context, e driver.TailEvent) { t.follows.Store(e.Follows) }
