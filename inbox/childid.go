package inbox

import "github.com/leat-go/leat/internal/ids"

// ChildID returns the id for a message that a handler of consumer creates from the message with
// id parent. It is a pure function: a handler that runs again, after its first run was rolled
// back or in another consumer with the same name, gets the same id. If a handler creates several
// messages from one, name distinguishes them; an ordinal is enough if their order never changes.
// The id is a UUID, version 5.
func ChildID(parent, consumer, name string) string {
	return ids.Child(parent, consumer, name)
}
