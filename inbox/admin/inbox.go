package admin

import (
	"context"
	"time"
)

// Inbox is the operators' interface to a store of inboxes, for all of its consumers. It is safe for
// concurrent use.
//
// Looking writes nothing, takes no lock that a delivery waits for, and registers no
// consumer; in a database it needs SELECT only. What a call returns is one moment's view,
// and may have changed since.
//
// Errors wrap ErrInvalidRequest if the request makes no sense, and ErrUnknownConsumer if
// it names a consumer that the store has never had a message for; others are the store's.
type Inbox interface {
	// Stats returns figures of the whole store.
	Stats(ctx context.Context) (Stats, error)

	// Consumers lists the consumers, by name.
	Consumers(ctx context.Context, q ConsumersQuery) ([]Consumer, error)

	// Attempts lists messages of one consumer that are being tried or have failed, and
	// were neither processed nor given up since, by their ids.
	Attempts(ctx context.Context, q AttemptsQuery) ([]Attempts, error)

	// Parked lists parked messages and those that wait behind them, in the order in
	// which they were parked.
	Parked(ctx context.Context, q ParkedQuery) ([]ParkedMessage, error)

	// Failures counts the messages that wait for an operator by reason, the most frequent reasons first.
	Failures(ctx context.Context, q FailuresQuery) ([]FailureGroup, error)

	// Lookup returns the record that each consumer has of one message, by the consumers' names. Consumers
	// that remember positions have no ids, and are left out.
	Lookup(ctx context.Context, q LookupQuery) ([]Sighting, error)

	// Redrive makes parked messages due. A key is redriven as a whole, whichever of its
	// messages is named: its first message is due, and the others follow, one after
	// another, as each has taken effect; the result has the first ones. Ids stay, and so
	// do the errors; attempts begin at 0.
	//
	// It returns ErrNotParked if nothing of the key or id is parked, and ErrBeingRetried
	// if it is redriven already; a filter that matches nothing is not an error. After another
	// error some of what was selected may have been changed.
	Redrive(ctx context.Context, r ChangeRequest) (Changed, error)

	// SkipHead drops the first message of a parked key; the next one is due, and the
	// others follow it in order. Errors are those of Redrive.
	SkipHead(ctx context.Context, r SkipHeadRequest) (Changed, error)

	// Drop drops parked messages for good: their handler never runs. Their ids stay
	// recorded, so that redeliveries are duplicates. The audit keeps their ids and
	// errors, nothing keeps their payloads.
	//
	// A key is dropped with all messages that wait behind it. By ID, or by a filter, only the
	// selected messages are dropped; if one was the first of its key, the next one becomes due.
	// Errors are those of Redrive.
	Drop(ctx context.Context, r ChangeRequest) (Changed, error)
}

// Auditor is an Inbox that stores who has changed what, and why.
type Auditor interface {
	// Audit returns entries of the audit.
	Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)
}

// Retainer is an Inbox that forgets.
type Retainer interface {
	// Retention returns what is remembered, and what is forgotten next.
	Retention(ctx context.Context) (Retention, error)

	// LowerFloor lowers the time below which messages are too old, and returns the previous one.
	// It is for a floor that wrong clocks have raised. Forgotten ids are accepted again, but what
	// was remembered about them is lost. Messages that were parked because of the high floor must
	// be redriven. It is audited. LowerFloorRequest.Check documents its errors. After another
	// error the floor may have been lowered for some messages only: call it again.
	LowerFloor(ctx context.Context, r LowerFloorRequest) (previous time.Time, err error)
}

// Watermarks is an Inbox whose consumers remember positions in logs. Each change is
// audited in the transaction that makes it.
type Watermarks interface {
	// Partitions returns the remembered positions of a consumer, ordered by topic, source and
	// partition.
	Partitions(ctx context.Context, q PartitionsQuery) ([]PartitionState, error)

	// SetWatermark makes a partition continue at another offset, forwards or backwards, and
	// returns the offset at which it would have continued, or -1 if none was remembered. A
	// session that is reading the partition gets driver.ErrGap or duplicates, and must be
	// assigned anew. It returns driver.ErrBusy while a handler runs for a message of the
	// partition.
	SetWatermark(ctx context.Context, r SetWatermarkRequest) (previous int64, err error)

	// RemoveWatermark forgets a partition, as if it had never been assigned, and with the last
	// partition of a source the source. It is for deleted topics. It returns the offset at which
	// the partition would have continued. It returns ErrInvalidRequest if none is remembered, and
	// driver.ErrBusy while a handler runs for a message of the partition.
	RemoveWatermark(ctx context.Context, r RemoveWatermarkRequest) (previous int64, err error)

	// AcceptSource makes a source the topic's current one, after driver.ErrSourceChanged, and
	// returns the previous one, empty for none. Its partitions begin at their start when they are
	// assigned, so that no message of a topic that was created again is lost. If the new log
	// holds the messages of the old one, as after a move to another cluster, call SetWatermark
	// for each partition first. The positions in the old source stay, in case it comes back.
	AcceptSource(ctx context.Context, r AcceptSourceRequest) (previous string, err error)
}
