package sqlinbox

import (
	"context"
	"sync"
)

// fences are the inbox's own commits, one after the other. Callers that ask while one is in
// progress share the next: it begins after they have seen the data that must be durable.
type fences struct {
	mu   sync.Mutex
	next *fenced // the last fence, if it has not begun
	last *fenced
}

// fenced is a fence with its waiters.
type fenced struct {
	done chan struct{}
	err  error
}

// wait returns when a fence that begins from now on has committed. The end of a caller's context
// does not end it, since other callers share it.
func (f *fences) wait(ctx context.Context, commit func(ctx context.Context) error) error {
	f.mu.Lock()
	one := f.next
	if one == nil {
		one = &fenced{done: make(chan struct{})}
		before := f.last
		f.next, f.last = one, one
		go f.run(context.WithoutCancel(ctx), before, one, commit)
	}
	f.mu.Unlock()
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *fences) run(ctx context.Context, before, one *fenced, commit func(ctx context.Context) error) {
	if before != nil {
		<-before.done
	}
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	one.err = commit(ctx)
	close(one.done)
}

// fence returns once everything that was visible before is durable: InnoDB makes a commit visible
// before it is durable, and an acknowledged duplicate must survive a crash. Its log is
// sequential, so once another commit is durable, all earlier ones are.
func (s *store) fence(ctx context.Context, number int64) error {
	facts, err := s.check(ctx)
	if err != nil || !facts.Fence {
		return err
	}
	return s.fences.wait(ctx, func(ctx context.Context) error { return s.write(ctx, "fence", number) })
}
