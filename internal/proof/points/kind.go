package points

import "strings"

// Kind is a kind of failure at a point.
type Kind string

// The kinds.
const (
	// Error is an error that the point returns.
	Error Kind = "error"
	// Panic is a panic there.
	Panic Kind = "panic"
	// Exit is the end of the process, at once.
	Exit Kind = "exit"
	// Pause is a pause longer than a lease or a session lasts, or while others go on.
	Pause Kind = "pause"
	// Cancel is the end of the caller's context.
	Cancel Kind = "cancel"
	// Cut is the end of the connections to a server.
	Cut Kind = "cut"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Error, Panic, Exit, Pause, Cancel, Cut} }

// shows reports whether a word of a test can be k. It takes a name or the text of a string. It
// cannot prove anything, but it refutes a table that claims too much.
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
