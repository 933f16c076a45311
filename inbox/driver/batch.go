package driver

import "context"

// Alone is a BatchStore's answer for a message that it cannot claim together with others, for
// whatever reason. The engine passes it to inbox.Processor.Process on its own, and after it the
// later messages of its key.
const Alone Status = -1

// Later is a BatchStore's answer for a message that it could not claim because of another
// transaction, which need not be processing that message: the two may share a lock. After it has
// committed the rest, the engine claims the remaining messages once more, together, and repeats
// that as long as some are claimed each time. Those that remain then are treated like Alone.
const Later Status = -2

// BatchItem is a message to claim in a batch.
type BatchItem struct {
	// ID is the message's id, which is not empty.
	ID string
	// Key is the key within which it is ordered.
	Key Key
}

// BatchStore is a Store that claims several messages in one transaction. It is
// driven by inbox.Batch.
type BatchStore interface {
	Store

	// ClaimBatch opens one transaction and records in it that the consumer has processed those of
	// items that it can claim. It does not wait for other transactions, and an item that cannot
	// be claimed does not keep others from being claimed. No two items have ids with the same
	// stored form; the slice belongs to the caller.
	//
	// If the error is nil there is one Status for each item: Claimed, Duplicate or Busy as for
	// Store.Claim, Alone, or Later. The Unit is non-nil exactly if one of them is Claimed.
	// Otherwise no transaction is left open and no connection is held. The Unit commits or rolls
	// back all that were claimed.
	//
	// The end of ctx ends the claim, but not a Unit that was returned.
	ClaimBatch(ctx context.Context, items []BatchItem) (Unit, []Status, error)
}

// BatchAttempter is a BatchStore that counts the attempts of batches.
type BatchAttempter interface {
	BatchStore
	Attempter

	// AttemptBatch notes that the handler is about to run for items together. That does not count
	// as an attempt at any of them. But if the process ends, they must be run alone later, so
	// that a message that ends processes is found, and the others are not given up with it. The
	// notes are durable when AttemptBatch returns; Settle removes them.
	//
	// It returns one value for each item, which is true for those that must be run alone: those
	// noted by an earlier call, those with attempts of their own, and those of a key with a
	// parked message. Messages that were processed are not noted.
	AttemptBatch(ctx context.Context, items []BatchItem) (alone []bool, err error)
}
