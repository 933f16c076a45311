package dynamooutbox

import (
	"context"
	"sync"
)

// bell wakes the relays of this process when something was committed.
type bell struct {
	mu   sync.Mutex
	ears map[chan struct{}]struct{}
}

// Wake notifies the relays of this process that a transaction has committed. It never blocks.
// RunBell calls it for the transactions of other processes.
func (o *Outbox) Wake() {
	o.bell.mu.Lock()
	defer o.bell.mu.Unlock()
	for ch := range o.bell.ears {
		select {
		case ch <- struct{}{}:
		default: // one is waiting to be received already
		}
	}
}

// Wakes implements driver.Source.
func (s *source) Wakes(ctx context.Context) <-chan struct{} {
	b, ch := &s.ob.bell, make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears == nil {
		b.ears = make(map[chan struct{}]struct{})
	}
	b.ears[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ears, ch)
	})
	return ch
}
