package sim

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// handle writes an effect and a message in the transaction that ctx carries.
func (p *pipeline) handle(ctx context.Context, n *Node, e entry) error {
	u, ok := ctx.Value(txKey{}).(*unit)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	o := op{name: "handle", faulty: true, stalls: true, late: true}
	err := n.do(ctx, o, caller(ctx, e.id), func() error {
		if p.w.unlucky(20, BadHandler) {
			return errHandler
		}
		if u.tx.over {
			return outbox.ErrNotInTransaction
		}
		u.tx.write()
		u.tx.effects = append(u.tx.effects, Event{What: Effect, Node: n.name, ID: e.id, Topic: e.topic, Key: e.key})
		return nil
	})
	if err != nil {
		return err
	}
	child := outbox.Message{ID: e.id + ">", Topic: outTopic, Key: e.key, Payload: []byte("of " + e.id + ">")}
	if p.w.broken == ChildLate {
		u.child = []outbox.Message{child}
		return nil
	}
	return n.call(ctx, o, caller(ctx, child.ID), func() (progress, error) {
		t := u.tx
		if p.w.broken == ChildApart {
			t = p.db.begin(n)
			defer t.commit()
		}
		return t.enqueue([]outbox.Message{child})
	}, nil)
}
