package sim

import (
	"context"
	"strconv"

	"github.com/leat-go/leat/outbox"
)

// producer is a process that runs business transactions with messages.
type producer struct {
	p     *pipeline
	node  *Node
	left  int
	count int
}

// plan is the plan of a transaction.
type plan struct {
	first, second []outbox.Message // messages of two calls of Enqueue
	early         bool             // another write comes before the messages
	rollback      bool
}

// run runs the transactions. A failed one is not tried again: it was rolled back, or it has
// committed.
func (p *producer) run(n *Node) error {
	p.node = n
	for p.left > 0 && n.ctx.Err() == nil {
		var next plan
		var t *tx
		err := n.do(n.ctx, op{name: "begin"}, "", func() error {
			p.left--
			next, t = p.plan(), p.p.db.begin(n)
			return nil
		})
		if err != nil {
			continue
		}
		if err := p.transact(n.ctx, t, next); err != nil {
			_ = n.do(n.ctx, op{name: "close"}, "", func() error { t.abort(); return nil }) // its result does not matter
		}
	}
	return nil
}

func (p *producer) transact(ctx context.Context, t *tx, next plan) error {
	statement := op{name: "statement", faulty: true, stalls: true, late: true}
	if next.early {
		if err := p.node.do(ctx, statement, "update", func() error { t.write(); return nil }); err != nil {
			return err
		}
	}
	for _, msgs := range [][]outbox.Message{next.first, next.second} {
		if len(msgs) == 0 {
			continue
		}
		if err := p.node.call(ctx, statement, "insert", func() (progress, error) { return t.enqueue(msgs) }, nil); err != nil {
			return err
		}
	}
	end := op{name: "end", faulty: true, stalls: true, late: true}
	return p.node.do(ctx, end, "", func() error {
		if next.rollback {
			t.abort()
			return nil
		}
		if t.commit() {
			p.p.ring()
		}
		return nil
	})
}

// plan chooses what a transaction does.
func (p *producer) plan() plan {
	w := p.p.w
	next := plan{early: w.choose(4) == 3, rollback: w.choose(10) == 9}
	for range 1 + w.choose(3) {
		next.first = append(next.first, p.message())
	}
	if w.choose(6) == 5 {
		// The message has the topic and key of the first call, so that two transactions never wait for each
		// other.
		m := p.message()
		m.Topic, m.Key = next.first[0].Topic, next.first[0].Key
		next.second = []outbox.Message{m}
	}
	return next
}

// message makes up a message, and chooses the broker's answer to it.
func (p *producer) message() outbox.Message {
	w := p.p.w
	p.count++
	id := p.node.name + "-" + strconv.Itoa(p.count)
	m := outbox.Message{ID: id, Topic: p.p.topics[w.choose(uint32(len(p.p.topics)))], Payload: []byte("of " + id)} //nolint:gosec // few
	if k := w.choose(8); k < 7 {
		m.Key = string(rune('a' + k%3))
	}
	if !w.calm {
		switch w.choose(40) {
		case 39:
			w.fault(Poison)
			p.p.broker.poison[id] = outbox.FailurePermanent
		case 38:
			w.fault(Poison)
			p.p.broker.poison[id] = outbox.FailureUnknown
		}
	}
	return m
}
