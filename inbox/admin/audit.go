package admin

import (
	"encoding/json"
	"time"
)

// AuditQuery selects entries of the audit, by all of its fields that are set.
type AuditQuery struct {
	// Action and ID must be equal.
	Action, ID string
	// Since is the earliest time, by the database's clock.
	Since time.Time
	// After is the No of the last entry of the page before.
	After int64
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// AuditEntry is who did what to which message, and why.
type AuditEntry struct {
	// No grows with each entry. It has gaps.
	No int64
	// At is the database's clock.
	At time.Time
	// Action is park or done of what the inbox did, redrive, skip_head or drop of
	// what an operator did.
	Action string
	// Actor is who did it: the consumer, or By.Actor.
	Actor, Reason string
	// ParkedNo is the message's No. ID, Topic and Key are the message's.
	ParkedNo       int64
	ID, Topic, Key string
	// Details is a JSON object, or nil.
	Details json.RawMessage
}
