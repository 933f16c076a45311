package sim

import (
	"slices"
	"testing"
)

// Shrink makes the schedule of r simpler as long as it violates the same rule: it cuts off its end,
// replaces runs of choices by zeros, which are the mildest, and leaves some out. It runs at most
// the given number of times.
func Shrink(t *testing.T, r Result, most int) Result {
	t.Helper()
	if !r.Failed() {
		return r
	}
	s := &shrinker{t: t, best: r, left: most}
	s.best.Schedule.Choices = trim(r.Schedule.Choices)
	for before := -1; before != s.size() && s.left > 0; {
		before = s.size()
		s.cut()
		for span := max(len(s.best.Schedule.Choices)/4, 1); span > 0; span /= 2 {
			s.zero(span)
			s.drop(span)
		}
	}
	return s.best
}

// shrinker keeps the simplest schedule that was found.
type shrinker struct {
	t    *testing.T
	best Result
	left int
}

// size returns the measure to minimize: the number of choices, and ten more for each that is not zero.
func (s *shrinker) size() int {
	n := len(s.best.Schedule.Choices)
	for _, c := range s.best.Schedule.Choices {
		if c != 0 {
			n += 10
		}
	}
	return n
}

// try runs choices and keeps them if they violate the same rule.
func (s *shrinker) try(choices []uint32) bool {
	if s.left <= 0 {
		return false
	}
	s.left--
	next := s.best.Schedule
	if next.Choices = choices; choices == nil {
		next.Choices = []uint32{}
	}
	r := Run(s.t, next, false)
	rule := s.best.Violations[0].Rule
	if !r.violates(rule) {
		return false
	}
	r = r.led(rule)
	r.Schedule.Choices = trim(choices)
	s.best = r
	return true
}

// cut shortens the end, by halves.
func (s *shrinker) cut() {
	for n := len(s.best.Schedule.Choices) / 2; n > 0; n /= 2 {
		for n < len(s.best.Schedule.Choices) && s.try(slices.Clone(s.best.Schedule.Choices[:len(s.best.Schedule.Choices)-n])) {
			continue
		}
	}
}

// zero replaces runs of choices by zeros.
func (s *shrinker) zero(span int) {
	for at := 0; at < len(s.best.Schedule.Choices); at += span {
		choices := slices.Clone(s.best.Schedule.Choices)
		part := choices[at:min(at+span, len(choices))]
		if !slices.ContainsFunc(part, func(c uint32) bool { return c != 0 }) {
			continue
		}
		clear(part)
		s.try(choices)
	}
}

// drop leaves runs of choices out.
func (s *shrinker) drop(span int) {
	for at := 0; at+span <= len(s.best.Schedule.Choices); {
		if !s.try(slices.Delete(slices.Clone(s.best.Schedule.Choices), at, at+span)) {
			at += span
		}
	}
}

// trim cuts zeros off the end, since missing choices are zeros.
func trim(choices []uint32) []uint32 {
	n := len(choices)
	for n > 0 && choices[n-1] == 0 {
		n--
	}
	return slices.Clone(choices[:n])
}
