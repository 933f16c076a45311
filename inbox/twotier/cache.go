package twotier

import "context"

// Cache remembers in which scope messages were committed. It may forget at any time, but must
// never invent anything: it returns only scopes that were remembered for this consumer and this
// id, byte for byte. It is safe for concurrent use, tries once, and returns its error.
type Cache interface {
	// Seen returns the scope that was remembered last for the message called id, or
	// "" for none.
	Seen(ctx context.Context, consumer, id string) (scope string, err error)

	// Remember records that the message called id has committed in scope.
	Remember(ctx context.Context, consumer, id, scope string) error
}
