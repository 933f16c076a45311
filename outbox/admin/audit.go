package admin

import (
	"encoding/json"
	"time"
)

// AuditQuery selects entries of the audit, by all of its fields that are set.
type AuditQuery struct {
	// Group, Action, Topic, Key and ID must be equal.
	Group, Action, Topic, Key, ID string
	// Since is the earliest time, by the database's clock.
	Since time.Time
	// After is the No of the last entry of the page before. Entries may become visible out of the
	// order of their numbers.
	After int64
	// Newest returns the newest entries first.
	// Defaults to false: the oldest first.
	Newest bool
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *AuditQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	return checkTexts(map[string]string{"Group": q.Group, "Action": q.Action, "Topic": q.Topic, "Key": q.Key, "ID": q.ID})
}

// AuditEntry is an action in the audit: who did what to which record, and why.
type AuditEntry struct {
	// No grows with each entry. It has gaps.
	No int64
	// At is the database's clock.
	At time.Time
	// Action is park, dead or skip for a relay; redrive, skip_head, drop, remove_group, rename_group,
	// set_max_lag, replay, replay_end and others for an operator.
	Action string
	// Actor is the name of the person or program that made the change. For a relay it is the owner of its
	// lease.
	Actor, Reason string
	// Group is the relay group.
	Group string
	// Seq, ID, Topic and Key are the fields of the record, if the entry is about one.
	Seq            int64
	ID, Topic, Key string
	// Details is a JSON object, or nil. Its member "by" is By.Details of the request, if it had
	// any.
	Details json.RawMessage
}
