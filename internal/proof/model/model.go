package model

// Step names a transition between two states.
type Step struct {
	// Who acts, What they do, and the object, which may be empty.
	Who, What, On string
	// Outside is true if nothing in the protocol makes the step happen: a fault, or a transaction of
	// another client. Rest must be within reach without such steps.
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

// Promise is a property of every state.
type Promise[S comparable] struct {
	// Name is its name in the documents, such as O5.
	Name string
	// Says is the promise in words.
	Says string
	// Holds reports whether s keeps it.
	Holds func(s S) bool
}

// Move is a property of every step.
type Move[S comparable] struct {
	// Name and Says are as in a Promise.
	Name, Says string
	// Holds reports whether the step between two states keeps it.
	Holds func(from, to S) bool
}

// Sight is something that a search must find. Otherwise its result means little.
type Sight[S comparable] struct {
	// Name describes what must be found.
	Name string
	// Seen reports whether s shows it.
	Seen func(s S) bool
}

// Model is a protocol as a system of transitions.
type Model[S comparable] struct {
	// Start lists the initial states, at least one.
	Start []S
	// Next calls yield with each possible step from s and the state after it, always in the same order.
	// A state may come twice.
	Next func(s S, yield func(step Step, to S))
	// Always are the promises of every state.
	Always []Promise[S]
	// Moves are the promises of every step.
	Moves []Move[S]
	// Rest reports whether all obligations are met. From every state such a state must be within reach by
	// steps that are not Outside: past faults must not leave the protocol stuck. If nil, nothing is
	// required.
	Rest func(s S) bool
	// Liveness is the name of the promise that Rest stands for, such as O2.
	Liveness string
	// AtRest are the promises of states in which Rest holds.
	AtRest []Promise[S]
	// Sights must be seen.
	Sights []Sight[S]
	// Show formats s for human readers. If nil, Go's own form is used.
	Show func(s S) string
}
