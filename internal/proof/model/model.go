package model

// Step names what happens between two states.
type Step struct {
	// Who acts, What they do, and on what, which may be empty.
	Who, What, On string
	// Outside is true if nothing in the protocol makes the step happen: a fault, or
	// somebody else's transaction. Rest must be within reach without such steps.
	Outside bool
}

// String returns the step as a sentence.
func (s Step) String() string {
	text := s.Who + " " + s.What
	if s.On != "" {
		text += " " + s.On
	}
	return text
}

// Promise is what holds in every state.
type Promise[S comparable] struct {
	// Name is that of the documents, such as O5.
	Name string
	// Says is the promise in words.
	Says string
	// Holds is whether s keeps it.
	Holds func(s S) bool
}

// Move is what holds of every step.
type Move[S comparable] struct {
	// Name and Says are as those of a Promise.
	Name, Says string
	// Holds is whether the step between two states keeps it.
	Holds func(from, to S) bool
}

// Sight is something that a search must come across to be worth its name.
type Sight[S comparable] struct {
	// Name is what it is.
	Name string
	// Seen is whether s shows it.
	Seen func(s S) bool
}

// Model is a protocol as a system of transitions.
type Model[S comparable] struct {
	// Start are the states to begin with, at least one.
	Start []S
	// Next calls yield with each step that is possible in s and the state after it,
	// always in the same order. A state may come twice.
	Next func(s S, yield func(step Step, to S))
	// Always are the promises of every state.
	Always []Promise[S]
	// Moves are the promises of every step.
	Moves []Move[S]
	// Rest is where nothing more is owed. From every state one such must be within
	// reach, by steps that are not Outside: no fault that has been may leave the
	// protocol stuck. Nil for no such demand.
	Rest func(s S) bool
	// Liveness is the name of the promise that Rest stands for, such as O2.
	Liveness string
	// AtRest are the promises of states in which Rest holds.
	AtRest []Promise[S]
	// Sights must be seen.
	Sights []Sight[S]
	// Show returns s for human readers. Nil for Go's own form.
	Show func(s S) string
}
