package driver

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// Sink delivers records to a destination. Relay does all retrying. It calls Send from one
// goroutine per slot that it leads: one at a time if the source has one slot, and otherwise
// concurrently, for different keys.
type Sink interface {
	// Send delivers records in order and returns one result per record, at the same index. It
	// blocks until the fate of each is known or ctx has ended.
	//
	// For each topic and key it is a FIFO channel that stops at the first failure: once a record
	// has failed, no later record of the same topic and key from this call is delivered (its
	// result is outbox.NotSent). Nothing of the call reaches the destination after Send has
	// returned, except as a repeat of what a later call delivers anyway, and before that
	// delivery. Records without a key may be delivered in any order.
	//
	// A destination that drops repeats must not deduplicate by the id alone: another record with
	// a known id, and a replay, must arrive (see outbox.Record.Replay).
	//
	// It must not change records, nor keep them, their payloads or headers after it has returned.
	// Failures are classified with outbox.Failed; a plain error counts as outbox.FailureUnknown.
	// An error of the destination as a whole contains its addresses in brackets, as in "leat:
	// kafka at [k1:9092] does not answer": operators are then not told that only the record's
	// topic is out.
	Send(ctx context.Context, records []outbox.Record) []outbox.Result
}

// Borrower is a Sink, or a hook that is shown records, that uses their slice, payloads and
// headers only until its call returns. If a relay's sink and all its hooks that are shown records
// are Borrowers, the memory of a delivered page is reused for a later one (see Recycler). Texts,
// such as ids and keys, may be kept.
type Borrower interface {
	// Borrows does nothing: a type makes the promise by having it.
	Borrows()
}

// Checker is a Sink that can check whether its destination as a whole answers. A relay calls it
// when a topic is out and no other topic has been acknowledged lately: if the whole destination
// is unavailable, nothing is set aside.
type Checker interface {
	// Check returns nil if the destination answers.
	Check(ctx context.Context) error
}

// TopicChecker is a Sink that can find out which topics its destination takes. If a sink is one,
// a relay asks it in one call about all topics for which Send has reported
// outbox.ErrTopicUnavailable, instead of trying a record of each. Without it the relay tries a
// record of each, as for any topic that is out.
type TopicChecker interface {
	// CheckTopics returns those of topics that take records now, in any order. An error means
	// that it is not known. The relay calls it with 1 to 10,000 topics, never while Send is
	// running, and bounds it by Config.PublishTimeout.
	CheckTopics(ctx context.Context, topics []string) (available []string, err error)
}
