package outboxtest

import (
	"context"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Subject is an outbox under test: empty when a check gets it, with the default
// configuration, and used by that check alone. Its methods are safe for
// concurrent use.
type Subject interface {
	// Enqueuer is the outbox's own: EnqueueContext and Wake.
	outbox.Enqueuer

	// Begin starts a transaction. Ending ctx must not commit it.
	Begin(ctx context.Context) (Tx, error)

	// Source returns the source of a relay group. Sources of one group are
	// equivalent; a new group starts at the first record.
	Source(group string) driver.Source
}

// Tx is a transaction of a Subject. One goroutine uses it at a time.
type Tx interface {
	// Enqueue is the outbox's Enqueue in this transaction.
	Enqueue(ctx context.Context, msgs ...outbox.Message) error

	// Context returns ctx with the transaction in it, for EnqueueContext.
	Context(ctx context.Context) context.Context

	// Commit ends the transaction and makes its messages readable. It does not
	// wake the relays.
	Commit(ctx context.Context) error

	// Rollback ends the transaction. After Commit it may return any error and
	// changes nothing.
	Rollback(ctx context.Context) error
}

// ForeignHolder is implemented by a Subject that can hold a transaction open
// which has nothing to do with the outbox but shares its database: one that has
// written to another table, or in another database of the same server.
type ForeignHolder interface {
	// HoldForeign opens it. The returned function ends it.
	HoldForeign(ctx context.Context) (release func(), err error)
}

// ReadBlocker is implemented by a Subject that can make reads of held records wait, such
// as by a lock on their table.
type ReadBlocker interface {
	// BlockHeld makes Due, HeldKeys and CountHeld wait until release is called. The
	// function waits returns once one of them does.
	BlockHeld(ctx context.Context) (waits func(ctx context.Context) error, release func(), err error)
}
