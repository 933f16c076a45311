package driver

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Parker is a Store that keeps messages for an operator: inbox.Park.
//
// The parked messages of a key are a queue, in the order in which they were stored. Its first
// message is parked and waits for an operator, or is redriven and waits to be run. The others
// wait behind it. A message leaves the queue in the transaction of its effects, so that it takes
// effect once however many processes redrive.
type Parker interface {
	Attempter

	// Park stores a message and records its id as Claim does, in one transaction,
	// which is durable when Park returns. Only then may the message be acknowledged. It
	// returns Claimed if the message is stored, Duplicate if its id was recorded before,
	// Busy if it is in progress, or NotBehind.
	//
	// If req.Behind is set, the message is stored only if its queue contains a message of its key. The
	// answer must be right whatever a concurrent redrive does: either the message is in the queue and the
	// redrive reaches it, or the queue has ended and nothing is stored.
	Park(ctx context.Context, req ParkRequest) (Status, error)

	// QueuedKeys returns the keys of stored messages, each once, for at most limit messages. all
	// is set if these are all keys. It is for policies that do not count attempts: a Processor
	// asks once a second while messages arrive.
	QueuedKeys(ctx context.Context, limit int) (keys []Key, all bool, err error)

	// PickRedriven picks a redriven message that is due, counts an attempt at it, and does not
	// pick it again for a few seconds. The result is false if none is due.
	PickRedriven(ctx context.Context) (Redriven, bool, error)

	// ClaimRedriven opens a transaction and removes the message from its queue in it. Unlike
	// Claim, it returns false if the message has changed since it was picked: another process has
	// it.
	ClaimRedriven(ctx context.Context, r Redriven) (Unit, bool, error)

	// FinishRedriven makes the next message of r's key due, after the transaction of ClaimRedriven has
	// committed, or may have. If r still exists, it does nothing.
	FinishRedriven(ctx context.Context, r Redriven) error

	// FailRedriven notes that the attempt has failed: the message is parked again,
	// or due after f.Retry.
	FailRedriven(ctx context.Context, r Redriven, f RedriveFailure) error

	// RecoverRedriven makes messages due whose predecessor has left the queue without
	// FinishRedriven, and returns how many. It also makes due each redriven message that would be
	// due neither within the given time nor within the time for which the store leaves a picked
	// message alone: its due time was set by a clock that was ahead.
	RecoverRedriven(ctx context.Context, within time.Duration) (int, error)
}

// NotBehind is a Parker's answer to a ParkRequest with Behind, if no message of its key is parked
// any more.
const NotBehind Status = -3

// ParkRequest asks to store a message.
type ParkRequest struct {
	// ID is the id to record, as by Store.Claim.
	ID string
	// MessageID is the message's id for operators, empty if it has none.
	MessageID string
	// Key is the key within which it is ordered.
	Key Key
	// Message is the message.
	Message *message.Message
	// Behind is set if the message has not failed, but follows one of its key.
	Behind bool
	// Reason is the reason of parking, for operators.
	Reason string
	// History describes its attempts.
	History History
}

// Redriven is a message that an operator has redriven.
type Redriven struct {
	// No is its number in the Store, which grows with each message.
	No int64
	// ID is the message's id, empty if it has none.
	ID string
	// Key is the key within which it is ordered.
	Key Key
	// Message is a new copy of the message.
	Message *message.Message
	// Attempt is the number of this attempt since it was redriven, from 1.
	Attempt int
}

// RedriveFailure is how an attempt at a redriven message failed.
type RedriveFailure struct {
	AttemptError

	// Park parks the message again, for Reason.
	Park   bool
	Reason string
	// Retry is when the message is due again, if it is not parked.
	Retry time.Duration
	// Withdraw undoes the attempt, whose failure had nothing to do with the message.
	Withdraw bool
}
