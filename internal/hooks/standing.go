package hooks

import (
	"maps"
	"slices"
)

// Standing are the alarms of a component that works in rounds, and raises in each round every alarm
// that lasts. It reports which of them are over. It is for one goroutine at a time.
type Standing[A any] struct {
	last map[string]A
}

// Round takes the alarms of a round and returns those of earlier rounds that it has not raised
// again, in the order of their keys. An incomplete round ends no alarm, since it may have stopped
// before raising it. Alarms with one key are one.
func (s *Standing[A]) Round(raised []A, key func(A) string, complete bool) (over []A) {
	if s.last == nil || complete {
		earlier := s.last
		s.last = make(map[string]A)
		for _, a := range raised {
			s.last[key(a)] = a
		}
		for _, k := range slices.Sorted(maps.Keys(earlier)) {
			if _, lasts := s.last[k]; !lasts {
				over = append(over, earlier[k])
			}
		}
		return over
	}
	for _, a := range raised {
		s.last[key(a)] = a
	}
	return nil
}

// End returns all standing alarms, as when watching ends.
func (s *Standing[A]) End() (over []A) {
	for _, k := range slices.Sorted(maps.Keys(s.last)) {
		over = append(over, s.last[k])
	}
	s.last = nil
	return over
}
