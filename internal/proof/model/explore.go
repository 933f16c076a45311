package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// maxStates bounds a search. A model that exceeds it needs tighter bounds.
const maxStates = 8_000_000

// ErrTooLarge is returned for a model with more states than a search should visit.
var ErrTooLarge = errors.New("model: too many states")

// search is one exploration.
type search[S comparable] struct {
	model  *Model[S]
	number map[S]int32
	states []S
	parent []int32
	edges  []edge // steps that are not Outside; kept only for models with a Rest
	seen   []bool // which sights were seen
	report Report
}

// edge is a step between two states, by number.
type edge struct {
	from, to int32
}

// Check visits every state of m. It returns the error of ctx, or ErrTooLarge. Broken promises are in the
// report, not in the error.
func (m *Model[S]) Check(ctx context.Context) (Report, error) {
	began := time.Now()
	s := &search[S]{model: m, number: make(map[S]int32), seen: make([]bool, len(m.Sights))}
	err := s.run(ctx)
	s.report.States = len(s.states)
	s.report.Took = time.Since(began)
	for i, sight := range m.Sights {
		if !s.seen[i] {
			s.report.Unseen = append(s.report.Unseen, sight.Name)
		}
	}
	return s.report, err
}

func (s *search[S]) run(ctx context.Context) error {
	for _, start := range s.model.Start {
		if _, isNew := s.visit(start, -1); isNew && s.look(s.last()) {
			return nil
		}
	}
	level := len(s.states) // the first state of the next depth
	at := 0
	for at < len(s.states) { // s.states grows during the loop
		if at == level {
			s.report.Depth++
			level = len(s.states)
		}
		if at%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(s.states) > maxStates {
			return fmt.Errorf("%w: more than %d", ErrTooLarge, maxStates)
		}
		if s.expand(at) {
			return nil
		}
		at++
	}
	s.findStuck()
	return nil
}

// last returns the number of the newest state.
func (s *search[S]) last() int32 {
	return int32(min(len(s.states)-1, math.MaxInt32))
}

// visit returns the number of state, and whether it is new.
func (s *search[S]) visit(state S, parent int32) (number int32, isNew bool) {
	if number, ok := s.number[state]; ok {
		return number, false
	}
	s.states = append(s.states, state)
	s.parent = append(s.parent, parent)
	number = s.last()
	s.number[state] = number
	return number, true
}

// expand takes every step from state number at, and reports whether one breaks a promise.
func (s *search[S]) expand(at int) (broken bool) {
	from, number := s.states[at], int32(at) //nolint:gosec // at most maxStates
	s.model.Next(from, func(step Step, to S) {
		if broken {
			return
		}
		s.report.Transitions++
		there, isNew := s.visit(to, number)
		if s.model.Rest != nil && !step.Outside {
			s.edges = append(s.edges, edge{number, there})
		}
		for _, move := range s.model.Moves {
			if !move.Holds(from, to) {
				s.breaks(move.Name, move.Says, append(s.path(number), to))
				broken = true
				return
			}
		}
		broken = isNew && s.look(there)
	})
	return broken
}

// look checks a new state, and reports whether it breaks a promise.
func (s *search[S]) look(number int32) bool {
	state := s.states[number]
	for i, sight := range s.model.Sights {
		s.seen[i] = s.seen[i] || sight.Seen(state)
	}
	for _, p := range s.model.Always {
		if !p.Holds(state) {
			s.breaks(p.Name, p.Says, s.path(number))
			return true
		}
	}
	if s.model.Rest == nil || !s.model.Rest(state) {
		return false
	}
	for _, p := range s.model.AtRest {
		if !p.Holds(state) {
			s.breaks(p.Name, p.Says, s.path(number))
			return true
		}
	}
	return false
}
