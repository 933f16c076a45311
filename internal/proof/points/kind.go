package points

import "strings"

// Kind is a kind of failure at a point.
type Kind string

// The kinds.
const (
	// Error is an error that the point returns.
	Error Kind = "error"
	// Panic is a panic at the point.
	Panic Kind = "panic"
	// Exit is an immediate end of the process.
	Exit Kind = "exit"
	// Pause is a pause that outlasts a lease or a session, or during which others go on.
	Pause Kind = "pause"
	// Cancel is the end of the caller's context.
	Cancel Kind = "cancel"
	// Cut is the end of the connections to a server.
	Cut Kind = "cut"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Error, Panic, Exit, Pause, Cancel, Cut} }

// shows reports whether a word of a test, a name or a string literal, can stand for k. It cannot prove
// that the test does what its check claims, but it refutes a check that claims too much.
func (k Kind) shows(word string) bool {
	switch k {
	case Error:
		return word == "failpointtest.Error" || strings.Contains(word, "=error")
	case Panic:
		return word == "failpointtest.Panic" || strings.Contains(word, "panic")
	case Exit:
		return word == "failpointtest.ExitStatus"
	case Pause:
		return word == "failpointtest.Pause" || strings.HasPrefix(word, "pause") || word == "released" || word == "joined" || word == "suspended"
	case Cancel:
		return word == "failpointtest.Cancel" || word == "cancel"
	case Cut:
		return word == "cut" || strings.Contains(word, "pg_terminate_backend")
	default:
		return false
	}
}
