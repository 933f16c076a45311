package driver

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Key is what records are ordered by. If the field Key is empty, the record is unordered.
type Key struct {
	Topic, Key string
}

// Fate is what happens to a record that was not delivered at once.
type Fate int

const (
	// FateRetry holds the record until it is tried again.
	FateRetry Fate = iota
	// FateWait holds the record behind an earlier held record of its key.
	FateWait
	// FatePark holds the record, and all behind it of its key, until an operator
	// redrives it.
	FatePark
	// FateDead sets the record aside for good; its key goes on.
	FateDead
	// FateSkip drops the record, with a note in the audit; its key goes on.
	FateSkip
	// FateDelivered ends the holding of a record: the sink has acknowledged it.
	FateDelivered
)

// String returns the fate's name.
func (f Fate) String() string {
	switch f {
	case FateRetry:
		return "retry"
	case FateWait:
		return "wait"
	case FatePark:
		return "park"
	case FateDead:
		return "dead"
	case FateSkip:
		return "skip"
	case FateDelivered:
		return "delivered"
	default:
		return "unknown"
	}
}

// Attempt is one failed delivery of one record.
type Attempt struct {
	// At is the relay's clock, for operators.
	At time.Time
	// Kind is the sink's classification.
	Kind outbox.FailureKind
	// Error is the text of the error, at most 2,000 bytes.
	Error string
}

// Holding sets one record of a page aside.
type Holding struct {
	// Index is the record's place in the page.
	Index int
	// Fate is any but FateDelivered.
	Fate Fate
	// Attempts are the deliveries that have failed so far and count against the
	// policy. A record that waits, or whose destination is unavailable, has none.
	Attempts []Attempt
	// RetryIn is when to try again, if Fate is FateRetry.
	RetryIn time.Duration
	// Reason is for operators, if Fate is FatePark, FateDead or FateSkip.
	Reason string
}

// Held is a record that was set aside and is due.
type Held struct {
	outbox.Record

	// Attempts is the number of deliveries that have failed since it was held or
	// redriven.
	Attempts int
}

// Verdict is what happened to a held record that was tried again.
type Verdict struct {
	// Record is the record, as Due has returned it.
	Record *outbox.Record
	// Fate is any but FateWait.
	Fate Fate
	// Attempts are the deliveries that have failed since Due.
	Attempts []Attempt
	// RetryIn is when to try again, if Fate is FateRetry.
	RetryIn time.Duration
	// Reason is for operators, if Fate is FatePark, FateDead or FateSkip.
	Reason string
}

// Holder is a Session that can set records aside durably, so that its position
// passes them and the records of other keys go on. Relay calls its methods from
// the goroutine that calls Advance. Without it, a record that cannot be
// delivered holds back everything behind it.
//
// Every write is fenced: it changes nothing and returns ErrLeaseLost if the session has lost its
// lease (invariant O9).
type Holder interface {
	Session

	// HeldKeys returns the keys that have a held record, in any state. Records without a key are
	// not among them. Called once per session.
	HeldKeys(ctx context.Context) ([]Key, error)

	// Hold settles the first n records of p, as Advance does, and in the same transaction sets
	// aside those in h, which are among the n; the others have been acknowledged. The change is
	// stored when Hold returns. A record with FateWait whose key has no held record any more,
	// because an operator has dropped it, becomes due at once. Calling it again with the same
	// arguments changes nothing.
	Hold(ctx context.Context, p Page, n int, h []Holding) error

	// Due returns held records to send now, ascending in Seq: those of FateRetry whose time has
	// come, each followed by those of its key that wait behind it; at most limit, and none of the
	// topics in except. It returns fewer if they are large: a Holder bounds the bytes before it
	// fetches them, without delaying Renew, and returns at least one record if any is due
	// (pgoutbox: 4 MiB and one record). Empty when nothing is due. Parked records are never due.
	Due(ctx context.Context, limit int, except []string) ([]Held, error)

	// Hasten makes records due whose retry is more than within away: that time was set by a clock
	// that was ahead. Called when a session begins, and when records that should be due are not.
	// It is idempotent, and need not be fenced.
	Hasten(ctx context.Context, within time.Duration) error

	// Resolve stores what happened to records that Due has returned; records without a verdict
	// stay as they are. If the first record of a key leaves, the next one is due at once; if it
	// is parked, all behind it wait. It returns the keys that have no held record any more.
	Resolve(ctx context.Context, v []Verdict) (free []Key, err error)

	// CountHeld returns the number of records that are held, in any state. If Config.MaxHeld is
	// reached, a relay asks it now and then, since an operator may have dropped records, which no
	// other call shows.
	CountHeld(ctx context.Context) (int, error)
}
