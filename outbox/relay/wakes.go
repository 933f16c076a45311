package relay

import (
	"context"
	"sync"
)

// wakeFanout passes the wakes of a source on to all terms. It is safe for concurrent use.
type wakeFanout struct {
	mu    sync.Mutex
	terms map[*term]chan struct{}
}

// forward passes wakes on until ctx ends or wakes is closed. A nil channel never wakes.
func (f *wakeFanout) forward(ctx context.Context, wakes <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-wakes:
			if !ok {
				return
			}
		}
		f.wakeAll()
	}
}

func (f *wakeFanout) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ch := range f.terms {
		select {
		case ch <- struct{}{}:
		default: // an earlier wake was not received yet
		}
	}
}

// subscribe returns the channel on which t receives wakes.
func (f *wakeFanout) subscribe(t *term) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.terms == nil {
		f.terms = make(map[*term]chan struct{})
	}
	ch := make(chan struct{}, 1)
	f.terms[t] = ch
	return ch
}

func (f *wakeFanout) unsubscribe(t *term) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.terms, t)
}
