package sim

import (
	"errors"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// trouble injects trouble now, and schedules itself again.
func (p *pipeline) trouble() {
	if p.w.calm {
		return
	}
	switch p.w.choose(13) {
	case 1, 2:
		p.killRelay()
	case 3:
		p.stopRelay()
	case 4:
		p.killConsumer()
	case 5, 6:
		p.w.fault(Rebalance)
		p.group.rebalance(up(p.consumers))
	case 7, 8:
		p.w.fault(Outage)
		topic := p.topics[p.w.choose(2)]
		p.broker.away[topic] = p.w.now() + p.w.between(100*time.Millisecond, 4*time.Second)
	case 9:
		p.redriveOne()
	case 10:
		p.killProducer()
	case 11:
		p.endSession()
	case 12:
		p.emptyLog()
	}
	p.w.after(p.w.between(50*time.Millisecond, 1500*time.Millisecond), p.trouble)
}

// pickUp chooses a process that is up; nil if none is.
func (w *World) pickUp(nodes []*Node) *Node {
	nodes = up(nodes)
	if len(nodes) == 0 {
		return nil
	}
	return nodes[w.choose(uint32(len(nodes)))] //nolint:gosec // few
}

func (p *pipeline) killRelay() {
	if n := p.w.pickUp(p.relays); n != nil {
		p.w.fault(Crash)
		n.kill()
		p.w.after(p.w.between(10*time.Millisecond, 2*time.Second), p.startRelay)
	}
}

// endSession ends the lock of a lease. Its holder notices when it looks, and a sink's call in
// progress goes on.
func (p *pipeline) endSession() {
	one := p.db.slots[p.w.choose(uint32(len(p.db.slots)))] //nolint:gosec // few
	if one.lease.owner != nil {
		p.w.fault(Ended)
		one.lease.ended.Store(true)
	}
}

// emptyLog makes an operator empty the log, and restore its rows a while later. Relays that have
// noticed are started again then.
func (p *pipeline) emptyLog() {
	p.w.fault(Emptied)
	p.db.emptied = true
	p.w.after(p.w.between(10*time.Millisecond, 2*time.Second), p.putBack)
}

func (p *pipeline) putBack() {
	p.db.emptied = false
	for _, n := range up(p.relays) {
		if _, err := n.ended(); errors.Is(err, driver.ErrSourceUnusable) {
			n.stop()
			p.startRelay()
		}
	}
}

func (p *pipeline) stopRelay() {
	if n := p.w.pickUp(p.relays); n != nil {
		p.w.fault(Stop)
		n.stop()
		p.startRelay()
	}
}

func (p *pipeline) killConsumer() {
	if n := p.w.pickUp(p.consumers); n != nil {
		p.w.fault(Crash)
		n.kill()
		p.w.after(p.w.between(10*time.Millisecond, time.Second), func() { p.startConsumer(); p.group.rebalance(up(p.consumers)) })
	}
}

func (p *pipeline) killProducer() {
	if n := p.w.pickUp(p.producers); n != nil {
		p.w.fault(Crash)
		n.kill()
	}
}

// redriveOne redrives a parked record as operators do; sometimes they have fixed the cause first.
func (p *pipeline) redriveOne() {
	if r := p.db.redrive(); r != nil && p.w.choose(2) == 1 {
		delete(p.broker.poison, r.ID)
	}
}
