package failpointtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/leat-go/leat/internal/failpoint"
)

// ErrUnknownName is returned for a name that is not in [failpoint.Names].
var ErrUnknownName = errors.New("failpoint: unknown name")

// Registry holds the armed actions. The zero value is ready for use and has none. Its methods may
// be called concurrently.
type Registry struct {
	mu     sync.Mutex
	points map[failpoint.Name]*point
}

// point is one name of a registry.
type point struct {
	hits    int
	waiters []waiter
	armed   []armed
}

// armed is an action and the hit at which it happens, 0 for every hit.
type armed struct {
	action Action
	hit    int
}

// waiter is notified when a point has been reached often enough.
type waiter struct {
	hits    int
	reached chan struct{}
}

type contextKey struct{}

// With returns a context whose points are those of r.
func With(ctx context.Context, r *Registry) context.Context {
	Install()

	return context.WithValue(ctx, contextKey{}, r)
}

// Enable arms a point: the action happens at every hit from now on. It returns an
// error that wraps [ErrUnknownName] for a name that is not in [failpoint.Names].
func (r *Registry) Enable(name failpoint.Name, action Action) error {
	return r.arm(name, armed{action: action})
}

// EnableAt arms a point for one hit, counted from 1 over the registry's life.
func (r *Registry) EnableAt(name failpoint.Name, hit int, action Action) error {
	if hit < 1 {
		return fmt.Errorf("failpoint: %s at hit %d: counted from 1", name, hit)
	}

	return r.arm(name, armed{action: action, hit: hit})
}

func (r *Registry) arm(name failpoint.Name, a armed) error {
	if !slices.Contains(failpoint.Names(), name) {
		return fmt.Errorf("%w: %q", ErrUnknownName, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.at(name)
	p.armed = append(p.armed, a)

	return nil
}

// Disable disarms a point. Its hits are still counted.
func (r *Registry) Disable(name failpoint.Name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at(name).armed = nil
}

// Hits returns how often a point has been reached.
func (r *Registry) Hits(name failpoint.Name) int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.at(name).hits
}

// Reached returns a channel that is closed as soon as the point has been reached
// n times. It is closed before the action happens, so that a test can wait for a
// [Pause].
func (r *Registry) Reached(name failpoint.Name, n int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.at(name)
	reached := make(chan struct{})
	if p.hits >= n {
		close(reached)
	} else {
		p.waiters = append(p.waiters, waiter{hits: n, reached: reached})
	}

	return reached
}

// at returns the point; the caller holds the lock.
func (r *Registry) at(name failpoint.Name) *point {
	if r.points == nil {
		r.points = map[failpoint.Name]*point{}
	}
	p, ok := r.points[name]
	if !ok {
		p = &point{}
		r.points[name] = p
	}

	return p
}

// reach counts a hit and performs the armed actions, in the order of arming, up to the first error.
func (r *Registry) reach(ctx context.Context, name failpoint.Name) error {
	if !slices.Contains(failpoint.Names(), name) {
		return fmt.Errorf("%w: %q", ErrUnknownName, name)
	}
	for _, action := range r.hit(name) {
		if err := action.run(ctx, name); err != nil {
			return err
		}
	}

	return nil
}

// hit counts and returns the actions that are due.
func (r *Registry) hit(name failpoint.Name) []Action {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.at(name)
	p.hits++
	p.waiters = slices.DeleteFunc(p.waiters, func(w waiter) bool {
		if p.hits < w.hits {
			return false
		}
		close(w.reached)

		return true
	})
	var due []Action
	for _, a := range p.armed {
		if a.hit == 0 || a.hit == p.hits {
			due = append(due, a.action)
		}
	}

	return due
}
