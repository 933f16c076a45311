package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// series holds the series for each value of a bounded label. Finding those of a known value takes
// no lock and allocates nothing.
type series[T any] struct {
	bound *bound
	make  func(value string) T

	found atomic.Pointer[map[string]T] // by the requested value; replaced, never changed
	mu    sync.Mutex                   // held to replace found
}

func newSeries[T any](b *bound, makes func(value string) T, known ...string) *series[T] {
	s := &series[T]{bound: b, make: makes}
	s.found.Store(&map[string]T{})
	for _, v := range known {
		s.of(v)
	}
	return s
}

// of returns the series of a value.
func (s *series[T]) of(value string) T {
	if t, ok := (*s.found.Load())[value]; ok {
		return t
	}
	return s.add(value)
}

func (s *series[T]) add(value string) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := *s.found.Load()
	if t, ok := found[value]; ok {
		return t
	}
	fit := s.bound.fit(value)
	t, ok := found[fit]
	if !ok {
		t = s.make(fit)
	} else if fit == Other || fit != value {
		return t // the map must not grow with values beyond the bound
	}
	grown := maps.Clone(found)
	grown[fit] = t
	s.found.Store(&grown)
	return t
}

// values returns the values that have series.
func (s *series[T]) values() map[string]T { return *s.found.Load() }
