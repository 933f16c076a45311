package memoutbox

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Delayed implements admin.Manager.
func (ob operator) Delayed(ctx context.Context, q admin.DelayedQuery) ([]admin.DelayedMessage, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	return ob.delayed(q), ctx.Err()
}

// delayed returns the messages that a complete query selects. The caller holds ob.mu.
func (ob *Outbox) delayed(q admin.DelayedQuery) []admin.DelayedMessage {
	slices.SortFunc(ob.later, byDue)
	var found []admin.DelayedMessage
	for i := range ob.later {
		r := &ob.later[i]
		switch {
		case len(found) == q.Limit:
			return found
		case q.After != nil && cmp.Or(r.NotBefore.Compare(q.After.NotBefore), cmp.Compare(r.Seq, q.After.No)) <= 0:
		case q.ID != "" && q.ID != r.ID, q.Topic != "" && q.Topic != r.Topic, q.Key != "" && q.Key != r.Key:
		default:
			found = append(found, admin.DelayedMessage{Message: clone(&r.Message), No: r.Seq, CreatedAt: r.CreatedAt})
		}
	}
	return found
}

// CancelDelayed implements admin.Manager.
func (ob operator) CancelDelayed(ctx context.Context, req admin.CancelRequest) (admin.Changed, error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	var changed admin.Changed
	ob.later = slices.DeleteFunc(ob.later, func(r outbox.Record) bool {
		if r.ID != req.ID {
			return false
		}
		changed.Count++
		changed.IDs = append(changed.IDs, r.ID)
		if req.DryRun {
			return false
		}
		ob.note(admin.AuditEntry{Action: "cancel_delayed", ID: r.ID, Topic: r.Topic, Key: r.Key}, req.By, map[string]any{"not_before": r.NotBefore})
		return true
	})
	return changed, ctx.Err()
}
