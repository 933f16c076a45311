package driver

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// Sink delivers records to a destination. Relay does all retrying. It calls Send
// from one goroutine a slot that it leads: one at a time where the source has one
// slot, and otherwise concurrently, for different keys.
type Sink interface {
	// Send delivers records in order and returns one result a record, at the same
	// index. It blocks until the fate of each is known or ctx has ended.
	//
	// Per topic and key it is a FIFO channel that stops at the first failure: once
	// a record has failed, no later record of the same topic and key from this
	// call is delivered (outbox.NotSent says so), and nothing of the call reaches
	// the destination after Send has returned, or only as a repeat of what a
	// later call delivers anyway and before it. Records without a key may be
	// delivered in any order.
	//
	// A destination that drops repeats must not go by the id alone: another record of a known id,
	// and a replay, are to arrive (see outbox.Record.Replay).
	//
	// It must not change records, nor keep them, their payloads or headers after
	// it has returned. Failures are classified with outbox.Failed; a plain error
	// counts as outbox.FailureUnknown. An error of the destination as a whole names its addresses
	// in brackets, as "leat: kafka at [k1:9092] does not answer" does: operators are then not told
	// that the topic of the record is out.
	Send(ctx context.Context, records []outbox.Record) []outbox.Result
}

// Borrower is a Sink, or a hook that is shown records, which looks at them only until its
// call returns: at their slice, payloads and headers. Where a relay's sink and all of those
// hooks are, the memory of a page that was delivered is used for a later one (see Recycler).
// Texts, such as ids and keys, may be kept.
type Borrower interface {
	// Borrows does nothing: a type that has it makes the promise.
	Borrows()
}

// Checker is a Sink that can tell whether its destination as a whole answers. A
// relay asks it when a topic is out and no other has been acknowledged lately:
// where the whole destination is unavailable, nothing is set aside.
type Checker interface {
	// Check returns nil if the destination answers.
	Check(ctx context.Context) error
}

// TopicChecker is a Sink that can tell which topics its destination takes. Where it is
// one, a relay asks it about the topics about which Send has said
// outbox.ErrTopicUnavailable, all of them in one call, instead of trying a record of
// each. Without it the relay tries a record of each, as of any topic that is out.
type TopicChecker interface {
	// CheckTopics returns those of topics that take records now, in any
	// order. An error means that nothing is known. The relay calls it with 1 to 10,000
	// topics, never while Send is under way, and bounds it by Config.PublishTimeout.
	CheckTopics(ctx context.Context, topics []string) (available []string, err error)
}
