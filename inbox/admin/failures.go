package admin

import (
	"errors"
	"time"
)

// FailuresQuery selects messages that wait for an operator, by all of its fields that are
// set.
type FailuresQuery struct {
	// Consumer is the consumer of the messages. Defaults to all consumers.
	Consumer string
	// Topic must be equal.
	Topic string
	// Limit bounds the groups that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *FailuresQuery) complete() error {
	limit, err := limitOr(q.Limit, 100)
	q.Limit = limit
	return errors.Join(err, storableTexts(field{"Consumer", q.Consumer}, field{"Topic", q.Topic}))
}

// FailureGroup is a group of messages of one consumer and topic that were parked for the same
// reason.
type FailureGroup struct {
	// Consumer and Topic are the consumer and the topic of the messages.
	Consumer, Topic string
	// Fingerprint is the common form of their reasons, as computed by Fingerprint of package
	// outbox/admin. Selection.Fingerprint selects by it.
	Fingerprint string
	// Example is the reason of one of them.
	Example string
	// Count is the number of the messages, not counting those that wait behind them.
	Count int64
	// First and Last are when the first and the last of them were parked, by the store's
	// clock.
	First, Last time.Time
}
