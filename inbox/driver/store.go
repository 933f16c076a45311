package driver

import (
	"context"
	"strconv"
)

// Status is a Store's answer to a claim.
type Status int

const (
	// Claimed means that this delivery owns the message until its Unit ends.
	Claimed Status = iota + 1
	// Duplicate means that a transaction that claimed the message has committed.
	Duplicate
	// Busy means that another transaction has claimed the message and has not
	// ended, or has ended just now.
	Busy
)

// String returns the status's name.
func (s Status) String() string {
	switch s {
	case Claimed:
		return "claimed"
	case Duplicate:
		return "duplicate"
	case Busy:
		return "busy"
	case Alone:
		return "alone"
	case Later:
		return "later"
	case NotBehind:
		return "not behind"
	default:
		return "Status(" + strconv.Itoa(int(s)) + ")"
	}
}

// Store remembers which messages one consumer has processed. It is driven by inbox.Processor,
// which does all the waiting; a Store tries once and returns its error. Implementations are safe
// for concurrent use.
type Store interface {
	// Claim opens a transaction and records in it that the consumer has processed
	// the message called id, which is not empty. It does not wait for other
	// transactions: a message that another has claimed is Busy.
	//
	// The Unit is non-nil exactly if the Status is Claimed and the error is nil. Otherwise no
	// transaction is left open and no connection is held. Duplicate is returned only if the claim
	// of another transaction is durably committed.
	//
	// An error that wraps one of inbox.Permanent refuses the message itself, such as one that is
	// older than what the Store remembers: it is given up as Config.OnFailure says, and another
	// id is recorded instead of its own.
	//
	// The end of ctx ends the claim, but not a Unit that was returned.
	Claim(ctx context.Context, id string) (Unit, Status, error)
}

// Unit is an open transaction that has claimed one message. The effects that
// are written in it, the record of the id and the messages enqueued in it
// become durable together, or not at all. One goroutine uses it at a time.
type Unit interface {
	// Context returns a child of ctx that carries the transaction.
	Context(ctx context.Context) context.Context

	// Commit ends the Unit. After an error it may have taken effect or not, unless the error
	// wraps ErrNotCommitted or ErrDuplicate: then it has not.
	Commit(ctx context.Context) error

	// Rollback ends the Unit. Whatever it returns, the transaction will not commit, and the
	// Unit's resources are released. It is not called after Commit.
	Rollback(ctx context.Context) error
}

// Classifier is a Store that knows which errors of its database are unrelated to the message.
type Classifier interface {
	Store

	// Conflict reports whether err, of a claim, of a handler or of a commit, refuses the
	// transaction because of others that ran at the same time, so that it is worth repeating
	// claim, handler and commit at once.
	Conflict(err error) bool

	// Outage reports whether err is an answer of a database that shuts down, or lacks something
	// that every message needs: disk, memory, connections. The attempt is not counted. An answer
	// that depends on what the statement does, such as a statement timeout, is not an outage.
	Outage(err error) bool
}
