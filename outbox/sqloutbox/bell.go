package sqloutbox

import (
	"context"
	"sync"
)

// bell wakes its listeners in this process. The zero bell is ready.
type bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// ring never blocks: a listener that has not received the last ring receives only one.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		ringOne(c)
	}
}

func ringOne(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// listen returns a channel that receives every ring until ctx ends.
func (b *bell) listen(ctx context.Context) chan struct{} {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = make(map[chan struct{}]struct{})
	}
	b.listeners[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, c)
	})
	return c
}
