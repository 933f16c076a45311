package pgoutbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/leat-go/leat/outbox/internal/pgheld"
)

// AuditQuery selects entries of the audit, by all of its fields that are set.
type AuditQuery struct {
	// Group, Action, Topic, Key and ID must be equal.
	Group, Action, Topic, Key, ID string
	// Since is the earliest time, by the database's clock.
	Since time.Time
	// After is the No of the last entry of the page before.
	After int64
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// AuditEntry says who did what to which record, and why.
type AuditEntry struct {
	// No grows with each entry. It has gaps.
	No int64
	// At is the database's clock.
	At time.Time
	// Action is what was done: park, dead or skip by a relay, redrive, skip_head,
	// drop, remove_group or set_max_lag by people, and others.
	Action string
	// Actor is who did it; of what a relay did, the owner of its lease.
	Actor, Reason string
	// Group is the relay group.
	Group string
	// Seq, ID, Topic and Key are the record's, where the entry is about one.
	Seq            int64
	ID, Topic, Key string
	// Details is a JSON object, or nil.
	Details json.RawMessage
}

// Audit returns entries of the audit, the oldest first.
func (o *Outbox) Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	limit, err := limitOr(q.Limit)
	if err != nil {
		return nil, err
	}
	query := pgheld.AuditQuery(q)
	query.Limit = limit
	entries, err := o.held.Audit(ctx, o.pool, query)
	all := make([]AuditEntry, len(entries))
	for i, e := range entries {
		all[i] = AuditEntry{
			No: e.No, At: e.At.In(time.UTC), Action: e.Action, Actor: e.Actor, Reason: e.Reason,
			Group: e.Group, Seq: e.Seq, ID: e.ID, Topic: e.Topic, Key: e.Key,
		}
		if e.Details != nil {
			all[i].Details = json.RawMessage(*e.Details)
		}
	}
	return all, describe(err)
}
