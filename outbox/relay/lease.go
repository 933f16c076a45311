package relay

import (
	"context"
	"sync"
	"time"
)

// lease is how long a term may rely on its lease, by the relay's own clock. It uses the monotonic
// clock from before the lease was requested, so that it ends before the lease ends in the
// database (rule R2). It is safe for concurrent use.
type lease struct {
	mu       sync.Mutex
	deadline time.Time
	extended chan struct{} // closed and replaced by each extend
}

func (l *lease) extend(deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = deadline
	close(l.extended)
	l.extended = make(chan struct{})
}

// state returns the remaining time of the lease, and a channel that is closed when it is
// extended.
func (l *lease) state() (remaining time.Duration, extended <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.deadline), l.extended
}

// await returns nil as soon as at least need is left of the lease, or else the cause of
// ctx when ctx has ended.
func (l *lease) await(ctx context.Context, need time.Duration) error {
	for {
		remaining, extended := l.state()
		if remaining >= need {
			return nil
		}
		select {
		case <-extended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
