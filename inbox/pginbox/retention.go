package pginbox

import (
	"errors"
	"fmt"
	"time"
)

var errRetentionTooShort = errors.New("leat: the inbox remembers less than what can be delivered again")

// RetentionNeeds is how old a message can be when it is delivered again. A field that is 0
// requires nothing; a negative field requires that nothing is ever forgotten.
type RetentionNeeds struct {
	// Topic is the longest retention of the topics that the consumer reads: after a reset of its
	// offsets, all of their messages are delivered again.
	Topic time.Duration
	// Replay is the longest history that the outbox can send again: its retention.
	Replay time.Duration
	// Outage is the longest time that a message waits before its first delivery, in the outbox,
	// the broker or a queue of failed messages. The message must not be too old by then.
	Outage time.Duration
}

// Check compares what an inbox remembers with what can be delivered again. Its error states for
// each need by how much the inbox falls short. A message that is delivered later than that is not
// lost and does not run twice: it is too old, and waits for an operator. If remembered is
// negative, the inbox forgets nothing and meets all needs.
func (n RetentionNeeds) Check(remembered time.Duration) error {
	var errs []error
	for _, need := range []struct {
		name string
		span time.Duration
	}{{"Topic", n.Topic}, {"Replay", n.Replay}, {"Outage", n.Outage}} {
		switch {
		case remembered < 0 || need.span >= 0 && need.span <= remembered:
		case need.span < 0:
			errs = append(errs, fmt.Errorf("%w: Retention = %s, and %s is without end", errRetentionTooShort, remembered, need.name))
		default:
			errs = append(errs, fmt.Errorf("%w: Retention = %s is below %s = %s by %s",
				errRetentionTooShort, remembered, need.name, need.span, need.span-remembered))
		}
	}
	return errors.Join(errs...)
}
