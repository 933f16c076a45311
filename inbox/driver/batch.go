package driver

import "context"

// Alone is a BatchStore's answer for a message that it cannot claim together with
// others, for whatever reason. The engine hands it to inbox.Processor.Process by itself,
// and the later messages of its key after it.
const Alone Status = -1

// Later is a BatchStore's answer for a message that it could not claim because of another
// transaction, which need not have that message in hand: they may share a lock. The engine
// claims what is left of the batch once more, together, after it has committed the rest, and
// as often as each time some are claimed. What is left then is as if Alone.
const Later Status = -2

// BatchItem is a message that is to be claimed in a batch.
type BatchItem struct {
	// ID is the message's id, which is not empty.
	ID string
	// Key orders it.
	Key Key
}

// BatchStore is a Store that claims several messages in one transaction. It is
// driven by inbox.Batch.
type BatchStore interface {
	Store

	// ClaimBatch opens one transaction and records in it that the consumer has
	// processed those of items that it can claim. It does not wait for other
	// transactions, and an item that cannot be claimed does not keep others from
	// being claimed. No two items have ids that are stored alike; the slice is the
	// caller's.
	//
	// If the error is nil there is one Status an item: Claimed, Duplicate and Busy as
	// Store.Claim has them, Alone, or Later. The Unit is not nil exactly if one of
	// them is Claimed. Otherwise no transaction is left open and no connection is
	// held. The Unit commits or rolls back all that were claimed.
	//
	// The end of ctx ends the claim, but not a Unit that was returned.
	ClaimBatch(ctx context.Context, items []BatchItem) (Unit, []Status, error)
}

// BatchAttempter is a BatchStore that counts the attempts of batches.
type BatchAttempter interface {
	BatchStore
	Attempter

	// AttemptBatch notes that the handler is about to run for items together. That
	// counts as no attempt of any of them, but should the process end they are known
	// for it: they are to be run alone, so that the one that ends processes is
	// found, and the others are not given up with it. What is noted is durable when
	// AttemptBatch returns; Settle takes it back.
	//
	// It returns one value an item, which is true for those that are to be run
	// alone: noted by an earlier call, with attempts of their own, or of a key of
	// which a message is parked. Messages that were processed are not noted.
	AttemptBatch(ctx context.Context, items []BatchItem) (alone []bool, err error)
}
