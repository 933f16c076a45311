package inboxtest

import (
	"context"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// Connections is the most that a Subject may have open for its inboxes.
const Connections = 4

// Subject is an inbox under test with something to write in: empty when a check
// gets it, and used by that check alone. Its methods are safe for concurrent
// use.
type Subject interface {
	// Open returns an inbox as another process would open it, with the contract of
	// inbox.Processor. All inboxes share the stored data and the connections, and nothing else.
	// If there are connections, there are at least two and at most Connections.
	Open(consumer string, cfg inbox.Config) (inbox.Runner, error)

	// Write stores effect in the transaction that ctx carries, in a place that
	// accepts the same effect any number of times.
	Write(ctx context.Context, effect string) error

	// Effects returns the effects that are committed, in any order. It needs no connection of the
	// inboxes; the same holds for the other methods that read.
	Effects(ctx context.Context) ([]string, error)

	// Recorded reports whether it is committed that consumer has processed the
	// message called id.
	Recorded(ctx context.Context, consumer, id string) (bool, error)

	// Outbox returns an outbox that enqueues in the transactions of the inbox.
	Outbox() outbox.Enqueuer

	// Enqueued returns the ids of the messages whose enqueuing is committed.
	Enqueued(ctx context.Context) ([]string, error)

	// BreakCommit makes the next commit of an inbox report an error: after it has
	// taken effect if applied is true, else instead.
	BreakCommit(applied bool)
}
