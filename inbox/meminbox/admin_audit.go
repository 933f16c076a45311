package meminbox

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/admin"
)

// details returns what the audit keeps about a dropped message.
func (p *parked) details() json.RawMessage {
	type failure struct {
		At    time.Time `json:"at"`
		Error string    `json:"error"`
	}
	errs := make([]failure, len(p.history.Errors))
	for i, e := range p.history.Errors {
		errs[i] = failure(e)
	}
	details, _ := json.Marshal(map[string]any{"attempts": p.history.Attempts, "errors": errs}) // texts and numbers
	return details
}

// note adds an entry to the audit. The caller holds the lock.
func (s *Store) note(p *parked, action string, by admin.By, details json.RawMessage) {
	s.audit = append(s.audit, admin.AuditEntry{
		No: int64(len(s.audit)) + 1, At: time.Now(), Consumer: p.consumer, Action: action, Actor: by.Actor, Reason: by.Reason,
		ParkedNo: p.no, ID: p.id, Topic: p.key.Topic, Key: p.key.Name, Details: by.Annotate(details),
	})
}

// Audit implements admin.Auditor.
func (a *operators) Audit(ctx context.Context, q admin.AuditQuery) (all []admin.AuditEntry, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.look(ctx, q.Consumer, func(s *Store) error {
		entries := slices.Clone(s.audit)
		if q.Newest {
			slices.Reverse(entries)
		}
		for _, e := range entries {
			if len(all) < q.Limit && selects(q, e) {
				all = append(all, e)
			}
		}
		return nil
	})
	return all, err
}

func selects(q admin.AuditQuery, e admin.AuditEntry) bool {
	return (q.After == 0 || q.Newest && e.No < q.After || !q.Newest && e.No > q.After) &&
		(q.Consumer == "" || e.Consumer == q.Consumer) &&
		(q.Action == "" || e.Action == q.Action) &&
		(q.ID == "" || e.ID == q.ID) &&
		!e.At.Before(q.Since)
}
