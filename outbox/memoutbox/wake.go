package memoutbox

import "context"

// Wake notifies the relays on this outbox that a transaction has committed. It never blocks.
func (ob *Outbox) Wake() {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	for ch := range ob.wakes {
		select {
		case ch <- struct{}{}:
		default: // one is waiting to be received already
		}
	}
}

// subscribe returns a channel that receives after each Wake, coalesced, until
// ctx ends.
func (ob *Outbox) subscribe(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	ob.mu.Lock()
	ob.wakes[ch] = struct{}{}
	ob.mu.Unlock()
	context.AfterFunc(ctx, func() {
		ob.mu.Lock()
		defer ob.mu.Unlock()
		delete(ob.wakes, ch)
	})
	return ch
}
