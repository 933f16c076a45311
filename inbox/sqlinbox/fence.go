package sqlinbox

import (
	"context"
	"sync"
)

// fences are commits of the inbox's own, one after the other. Those who ask while one is
// under way share the next: it begins after they have seen what is to be durable.
type fences struct {
	mu   sync.Mutex
	next *fenced // the last one, if it has not begun
	last *fenced
}

// fenced is a fence with those who wait for it.
type fenced struct {
	done chan struct{}
	err  error
}

// wait returns when a fence that begins from now on has committed. No caller's context ends
// it, since it is the others' as well.
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

// fence returns when what was seen before is durable: InnoDB shows a commit before it is,
// and an acknowledged duplicate must not be gone after a crash. Its log is sequential, so
// the end of one more commit is the end of those before.
func (s *store) fence(ctx context.Context, number int64) error {
	facts, err := s.check(ctx)
	if err != nil || !facts.Fence {
		return err
	}
	return s.fences.wait(ctx, func(ctx context.Context) error { return s.write(ctx, "fence", number) })
}
