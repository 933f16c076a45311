package twotier

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errReader is returned to the waiters of a read that panicked.
var errReader = errors.New("leat: the read of the scope did not return")

// scopes reads the scope. Each caller gets a read that has begun after
// it asked, and one read serves all who asked before it began. The first of them
// does the reading: there is no goroutine.
type scopes struct {
	read    func(ctx context.Context) (string, error)
	timeout time.Duration

	mu      sync.Mutex
	last    string // of the last read that went well
	reading bool
	next    *read // has not begun; nil while there are no waiters
}

// read is one read of the scope.
type read struct {
	lead  chan struct{} // holds a token when it may begin
	done  chan struct{} // closed when it has ended
	scope string
	err   error
}

// known returns a scope that was current at some time before the call. It reads the scope if none
// was read yet.
func (s *scopes) known(ctx context.Context) (string, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != "" {
		return last, nil
	}
	return s.now(ctx)
}

// now returns the result of a read that began after the call.
func (s *scopes) now(ctx context.Context) (string, error) {
	s.mu.Lock()
	if s.next == nil {
		s.next = &read{lead: make(chan struct{}, 1), done: make(chan struct{}), err: errReader}
		if !s.reading {
			s.next.lead <- struct{}{}
		}
	}
	r := s.next
	s.mu.Unlock()
	select {
	case <-r.done:
	case <-r.lead:
		s.run(ctx, r)
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return r.scope, r.err
}

// run does the read. It continues when ctx has ended, since others wait for it, but no longer
// than the timeout.
func (s *scopes) run(ctx context.Context, r *read) {
	s.mu.Lock()
	s.reading, s.next = true, nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.err == nil {
			s.last = r.scope
		}
		s.reading = false
		close(r.done)
		if s.next != nil {
			s.next.lead <- struct{}{}
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	r.scope, r.err = s.read(ctx)
	if r.err == nil && r.scope == "" {
		r.err = errors.New("leat: the scope is empty")
	}
}
