package dedupe

import (
	"context"
	"fmt"
	"time"
)

const (
	maxConsumerBytes = 200
	maxIDBytes       = 1024
)

// Key names a record: one message for one consumer. A Store must accept consumers of up to 200
// bytes and ids of up to 1,024 bytes. A Processor accepts ids of any length.
type Key struct {
	Consumer, ID string
}

// Request describes a claim.
type Request struct {
	// Token identifies the claimer. It is unique to one run of a handler. A second claim with the same
	// token, made because the answer to the first was lost, is the same claim.
	Token string

	// Lease is how long the claim lasts unless it is extended, at least 1 ms.
	Lease time.Duration

	// Fingerprint distinguishes messages with the same id and different contents. If it
	// is empty, contents are not compared.
	Fingerprint string
}

// Status is a store's answer to a claim.
type Status int

const (
	// Claimed means that the claimer must process the message.
	Claimed Status = iota + 1
	// Busy means that another run is processing it.
	Busy
	// Done means that it was processed.
	Done
	// Mismatch means that the id was claimed before with another fingerprint.
	Mismatch
)

// String returns the status' name.
func (s Status) String() string {
	switch s {
	case Claimed:
		return "claimed"
	case Busy:
		return "busy"
	case Done:
		return "done"
	case Mismatch:
		return "mismatch"
	default:
		return fmt.Sprintf("Status(%d)", int(s))
	}
}

// Claim is the answer to a claim.
type Claim struct {
	Status Status

	// Takeover is set with Claimed if an earlier claimer's lease ran out: its effect may
	// have happened.
	Takeover bool

	// Attempt counts the claims of the record, from 1. It only grows while the
	// store keeps the record, so it can serve the far side as a fencing token.
	Attempt int

	// Remaining is how long the other claimer's lease still runs, for Busy.
	Remaining time.Duration

	// Result is the result of the run that has completed, for Done.
	Result []byte
}

// Completion is a store's answer to the end of a run.
type Completion int

const (
	// Completed means that the message is done, by this token.
	Completed Completion = iota + 1
	// Fenced means that another run has taken over and is processing it: do not acknowledge.
	Fenced
	// FencedDone means that another run has taken over and has completed it.
	FencedDone
	// Late means that it is done now, although the token had released it.
	Late
	// Resurrected means that it is done now, although the store had lost the
	// record.
	Resurrected
)

// String returns the completion's name.
func (c Completion) String() string {
	switch c {
	case Completed:
		return "completed"
	case Fenced:
		return "fenced"
	case FencedDone:
		return "fenced_done"
	case Late:
		return "late"
	case Resurrected:
		return "resurrected"
	default:
		return fmt.Sprintf("Completion(%d)", int(c))
	}
}

// Store keeps the records. Its methods are safe for concurrent use, each is one
// atomic step of the store, and each can be repeated after a lost answer without
// harm (invariant D5). Time is the store's own clock.
//
// A Store tries once and returns its error; the next call finds out whether the first took
// effect.
type Store interface {
	// Claim claims key, unless another token holds it under a lease that has not run out (D1,
	// D4).
	Claim(ctx context.Context, key Key, req Request) (Claim, error)

	// Extend makes the lease end after lease from now. It returns ErrFenced if token does
	// not hold the record (D2), even if the record was released, completed or lost.
	Extend(ctx context.Context, key Key, token string, lease time.Duration) error

	// Complete marks key as done, for as long as the store remembers (D3), and
	// keeps result, if it can. The same token may complete again.
	Complete(ctx context.Context, key Key, token string, result []byte) (Completion, error)

	// Release releases key undone, so that it can be claimed at once. The number of attempts
	// stays. If token does not hold key, Release changes nothing.
	Release(ctx context.Context, key Key, token string) error
}
