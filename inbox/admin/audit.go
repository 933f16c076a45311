package admin

import (
	"encoding/json"
	"errors"
	"time"
)

// AuditQuery selects entries of the audit, by all of its fields that are set.
type AuditQuery struct {
	// Consumer, Action and ID must be equal.
	Consumer, Action, ID string
	// Since is the earliest time, by the store's clock.
	Since time.Time
	// After is the No of the last entry of the page before.
	// Defaults to the start.
	After int64
	// Newest returns the newest entries first.
	// Defaults to false: the oldest first.
	Newest bool
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *AuditQuery) complete() error {
	limit, err := limitOr(q.Limit, 100)
	q.Limit = limit
	return errors.Join(err, storableTexts(field{"Consumer", q.Consumer}, field{"Action", q.Action}))
}

// AuditEntry records who did what to which message or partition, and why.
type AuditEntry struct {
	// No grows with each entry. It has gaps.
	No int64
	// At is the store's clock.
	At time.Time
	// Consumer is the consumer of the message or partition, empty for lower_floor, which concerns
	// all consumers.
	Consumer string
	// Action is what was done: park or done (a redriven message took effect) for an inbox;
	// redrive, skip_head, drop, lower_floor, set_watermark, remove_watermark, accept_source or
	// skip_message for an operator.
	Action string
	// Actor is the name of the consumer, or By.Actor.
	Actor, Reason string
	// ParkedNo is the No of the message, 0 if the entry is not about a parked message. ID, Topic and Key
	// are the id, topic and key of the message.
	ParkedNo       int64
	ID, Topic, Key string
	// Details is a JSON object, or nil: the attempts and errors of a message that was dropped;
	// source, partition, previous and next of a watermark; previous and to of a floor. Its member
	// "by" holds the By.Details of the request.
	Details json.RawMessage
}
