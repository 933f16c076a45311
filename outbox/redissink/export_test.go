package redissink

import "time"

// Age makes the idle connections of s older by d.
func (s *Sink) Age(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.idle {
		l.used = l.used.Add(-d)
	}
}

var ErrLoses = errLoses
