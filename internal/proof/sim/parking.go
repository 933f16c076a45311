package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

// parkAttempts is the number of attempts after which a message is parked.
const parkAttempts = 3

// parking is the scenario of consumers whose inbox counts attempts, parks messages and runs them again
// when operators redrive them.
type parking struct {
	w     *World
	store *meminbox.Store
	group *group

	consumers []*Node
	sent      []entry
	bad       map[string]bool // ids whose handlers fail until they are fixed
	failed    error
}

func newParking(w *World) scenario {
	p := &parking{w: w, store: &meminbox.Store{}, bad: make(map[string]bool)}
	p.group = newGroup(w, make(map[string][]entry), "m-0", "m-1")
	p.group.handle = p.handle
	return p
}

// start implements scenario.
func (p *parking) start() {
	for i := range 5 + p.w.choose(12) {
		e := entry{id: "m" + strconv.Itoa(int(i)), topic: "m"}
		if k := p.w.choose(6); k < 5 {
			e.key = string(rune('a' + k%3))
		}
		if !p.w.calm && p.w.choose(6) == 5 {
			p.w.fault(Poison)
			p.bad[e.id] = true
		}
		part := partition("m", e.key)
		p.group.logs[part] = append(p.group.logs[part], e)
		p.sent = append(p.sent, e)
	}
	for range 1 + p.w.choose(3) {
		p.startConsumer()
	}
	p.group.rebalance(up(p.consumers))
	if !p.w.calm {
		p.w.after(p.w.between(50*time.Millisecond, time.Second), p.trouble)
	}
}

// startConsumer starts a process that also runs redriven messages.
func (p *parking) startConsumer() {
	if p.w.ending {
		return
	}
	var processor *inbox.Processor
	ready := make(chan struct{})
	n := p.w.start("consumer"+strconv.Itoa(len(p.consumers)+1), func(n *Node) error {
		<-ready
		return processor.RunRedrive(n.ctx, func(ctx context.Context, msg *message.Message) error {
			return p.handle(ctx, n, entry{id: msg.UUID, topic: "m", key: msg.Metadata.Get(outbox.HeaderKey)})
		})
	})
	defer close(ready)
	store := parkStore{Parker: p.store.Consumer("reader"), p: p, node: n}
	var err error
	processor, err = inbox.New(store, "reader", inbox.Config{
		OnFailure:   inbox.Policy{Action: inbox.Park, Attempts: parkAttempts, Delay: 10 * time.Millisecond, MaxDelay: time.Second},
		RedrivePoll: 200 * time.Millisecond, Logger: silent(),
	})
	p.failed = errors.Join(p.failed, err)
	p.group.processors[n] = processor
	p.consumers = append(p.consumers, n)
}

// handle has an effect in the transaction that ctx carries.
func (p *parking) handle(ctx context.Context, n *Node, e entry) error {
	about := Event{Node: n.name, ID: e.id, Topic: e.topic, Key: e.key}
	o := op{name: "handle", faulty: true, stalls: true, late: true, admitted: func() {
		about.What = Started
		p.w.note(about)
	}}
	return n.do(ctx, o, caller(ctx, e.id), func() error {
		if p.bad[e.id] || p.w.unlucky(20, BadHandler) {
			return errHandler
		}
		if !meminbox.OnCommit(ctx, func() {
			about.What = Effect
			p.w.note(about)
		}) {
			return outbox.ErrNotInTransaction
		}
		return nil
	})
}

// trouble injects trouble now, and schedules itself again.
func (p *parking) trouble() {
	if p.w.calm {
		return
	}
	switch p.w.choose(8) {
	case 1:
		if n := p.w.pickUp(p.consumers); n != nil {
			p.w.fault(Crash)
			n.kill()
			p.w.after(p.w.between(10*time.Millisecond, time.Second), func() { p.startConsumer(); p.group.rebalance(up(p.consumers)) })
		}
	case 2, 3:
		p.w.fault(Rebalance)
		p.group.rebalance(up(p.consumers))
	case 4:
		delete(p.bad, p.sent[p.w.choose(uint32(len(p.sent)))].id) //nolint:gosec // few
	case 5, 6:
		p.redrive()
	}
	p.w.after(p.w.between(50*time.Millisecond, 1500*time.Millisecond), p.trouble)
}

// redrive redrives everything that is parked, as operators do.
func (p *parking) redrive() {
	ctx, people := context.Background(), meminbox.NewAdmin(p.store)
	for _, m := range p.parked(context.Background(), admin.StateParked) {
		p.w.note(Event{What: Redriven, Node: "people", ID: m.ID, Topic: "m", Key: m.Key})
		_, err := people.Redrive(ctx, admin.ChangeRequest{
			By: admin.By{Actor: "people", Reason: "it is fixed"}, Consumer: "reader", Selection: admin.Selection{ID: m.ID},
		})
		p.failed = errors.Join(p.failed, err)
	}
}

// parked returns the parked messages in a state, or all if it is empty.
func (p *parking) parked(ctx context.Context, state admin.ParkedState) []admin.ParkedMessage {
	all, err := meminbox.NewAdmin(p.store).Parked(ctx, admin.ParkedQuery{State: state})
	p.failed = errors.Join(p.failed, err)
	return all
}

// produced implements scenario.
func (p *parking) produced() bool { return true }

// heal implements scenario.
func (p *parking) heal() {
	clear(p.bad)
	if len(up(p.consumers)) == 0 {
		p.startConsumer()
	}
	p.group.rebalance(up(p.consumers))
	p.tend()
}

func (p *parking) tend() {
	p.redrive()
	p.w.after(time.Second, p.tend)
}

// settled implements scenario.
func (p *parking) settled() bool {
	return p.group.finished() && len(p.parked(context.Background(), "")) == 0
}
