package relay

import (
	"context"
	"sync"
)

// bell passes the wakes of a source on to all terms.
type bell struct {
	mu    sync.Mutex
	terms map[*term]chan struct{}
}

// ring passes wakes on until ctx ends. A nil channel never wakes.
func (b *bell) ring(ctx context.Context, wakes <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-wakes:
			if !ok {
				return
			}
		}
		b.mu.Lock()
		for _, ch := range b.terms {
			select {
			case ch <- struct{}{}:
			default: // one is waiting to be received already
			}
		}
		b.mu.Unlock()
	}
}

func (b *bell) join(t *term) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.terms == nil {
		b.terms = make(map[*term]chan struct{})
	}
	ch := make(chan struct{}, 1)
	b.terms[t] = ch
	return ch
}

func (b *bell) leave(t *term) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.terms, t)
}
