package heldqueue

import (
	"bytes"

	"github.com/leat-go/leat/outbox/admin"
)

// AuditLog keeps audit entries in memory. The zero value is empty. It is not safe for
// concurrent use.
type AuditLog struct {
	entries []admin.AuditEntry
}

// Add stores e under the next number.
func (l *AuditLog) Add(e admin.AuditEntry) {
	e.No = int64(len(l.entries)) + 1
	l.entries = append(l.entries, e)
}

// List returns the entries that q selects. The error wraps admin.ErrInvalidRequest.
func (l *AuditLog) List(q admin.AuditQuery) ([]admin.AuditEntry, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	var found []admin.AuditEntry
	for i := range l.entries {
		e := l.entries[i]
		if q.Newest {
			e = l.entries[len(l.entries)-1-i]
		}
		if len(found) == q.Limit {
			break
		}
		if after(&e, q) && !e.At.Before(q.Since) && like(e.Group, q.Group) && like(e.Action, q.Action) &&
			like(e.Topic, q.Topic) && like(e.Key, q.Key) && like(e.ID, q.ID) {
			e.Details = bytes.Clone(e.Details)
			found = append(found, e)
		}
	}
	return found, nil
}

// after reports whether e is beyond the previous page.
func after(e *admin.AuditEntry, q admin.AuditQuery) bool {
	if q.Newest {
		return q.After == 0 || e.No < q.After
	}
	return e.No > q.After
}

// like reports whether have equals want, or want is empty.
func like(have, want string) bool {
	return want == "" || have == want
}
