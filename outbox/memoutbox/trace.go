package memoutbox

import (
	"context"
	"slices"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/trace"
)

// Trace implements admin.Manager.
func (ob operator) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	err := admin.Complete(&q)
	if err != nil {
		return admin.Trace{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	var found admin.Trace
	slots := ob.slots()
	var records []outbox.Record
	var seqs []int64
	for _, r := range ob.retained() {
		if r.ID == q.ID && !r.CreatedAt.Before(q.Since) && len(records) < trace.Most {
			records, seqs = append(records, r), append(seqs, r.Seq)
		}
	}
	for _, g := range slots {
		if g.slot > 0 {
			continue // the records set aside are those of all slots
		}
		held, dead, err := heldqueue.ByID(ctx, ob.heldOf(g.name), g.name, q.ID, trace.Most, seqs)
		if err != nil {
			return admin.Trace{}, err
		}
		found.Held, found.Dead = append(found.Held, held...), append(found.Dead, dead...)
	}
	found.Delayed = ob.delayed(admin.DelayedQuery{ID: q.ID, Limit: trace.Most})
	if found.Audit, err = ob.audit.List(admin.AuditQuery{ID: q.ID, Since: q.Since, Newest: true}); err != nil {
		return admin.Trace{}, err
	}
	slices.Reverse(found.Audit)
	for _, r := range records {
		r.Message = clone(&r.Message)
		m := admin.TracedMessage{Record: r}
		for _, g := range slots {
			if int(r.Shard)%ob.shares[g.name].slots != g.slot {
				continue
			}
			state := admin.TracePending
			if !topics.MatchAny(g.topics, r.Topic) {
				state = admin.TraceFiltered
			} else if !ob.waits(g, r.Seq) {
				at := slices.IndexFunc(ob.log, func(l outbox.Record) bool { return l.Seq == r.Seq })
				state = trace.Settled(&found, g.name, r.Seq, at < ob.shares[g.name].begin)
			}
			m.Groups = append(m.Groups, admin.GroupTrace{Group: g.name, State: state})
		}
		found.Messages = append(found.Messages, m)
	}
	return found, ctx.Err()
}

// waits reports whether a slot has not settled the record with a number.
func (ob *Outbox) waits(g *group, seq int64) bool {
	for r := range ob.unsettled(g) {
		if r.Seq == seq {
			return true
		}
	}
	return false
}
