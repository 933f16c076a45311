package sim

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox/relay"
)

// outTopic is the topic to which handlers send; it has no readers.
const outTopic = "out"

// pipeline is the scenario of producers, relays and consumers on one database and one broker.
type pipeline struct {
	w      *World
	db     *db
	broker *broker
	group  *group
	topics []string
	config relay.Config

	relays, consumers, producers []*Node
	failed                       error // error of an engine that could not be made
	healed                       time.Duration
}

func newPipeline(w *World) scenario {
	p := &pipeline{w: w, db: newDB(w), broker: newBroker(w), topics: []string{"t", "u"}}
	p.group = newGroup(w, p.broker.logs, "t-0", "t-1", "u-0", "u-1")
	p.group.handle = p.handle
	p.config = p.configure()
	p.db.tails = len(p.db.slots) == 1 && w.choose(2) == 1
	return p
}

// silent returns a logger that discards everything: schedules cause the conditions that engines warn of,
// thousands of times.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// configure chooses how relays work: their slots, pages, policies and order.
func (p *pipeline) configure() relay.Config {
	w := p.w
	total := w.choose(10) == 9
	if total {
		p.db.makeSlots(1)
	} else {
		p.db.makeSlots([]int{1, 1, 2, 3}[w.choose(4)])
	}
	c := relay.Config{
		PageSize: int(1 + w.choose(5)), ReadAhead: []int{1, relay.NoReadAhead, 3}[w.choose(3)],
		Lease: leaseTime, PublishTimeout: time.Second, LeaseMargin: 200 * time.Millisecond,
		PollMin: 5 * time.Millisecond, PollMax: 500 * time.Millisecond,
		BackoffMin: 10 * time.Millisecond, BackoffMax: 500 * time.Millisecond, DrainTimeout: 2 * time.Second,
		SuspectKeys: 3, Logger: silent(),
	}
	if total {
		c.TotalOrder = true
		c.Policies = []relay.Policy{{Action: relay.Block}}
		return c
	}
	actions := []relay.Action{relay.Park, relay.Block, relay.DeadLetter, relay.Skip}
	c.Policies = []relay.Policy{{Topics: "u", Action: actions[w.choose(4)], Attempts: 3}, {Attempts: 3}}
	return c
}

// start implements scenario.
func (p *pipeline) start() {
	for range 1 + p.w.choose(3) {
		p.startRelay()
	}
	for range 1 + p.w.choose(2) {
		p.startConsumer()
	}
	p.group.rebalance(up(p.consumers))
	for range 1 + p.w.choose(3) {
		p.startProducer()
	}
	if !p.w.calm {
		p.w.after(p.w.between(50*time.Millisecond, time.Second), p.trouble)
	}
}

func (p *pipeline) startRelay() {
	if p.w.ending {
		return
	}
	n := p.w.start("relay"+strconv.Itoa(len(p.relays)+1), func(n *Node) error {
		r, err := relay.New(source{db: p.db, node: n}, sink{b: p.broker, node: n}, p.config)
		if err != nil {
			return err
		}
		return r.Run(n.ctx)
	})
	p.relays = append(p.relays, n)
}

// startConsumer starts a process whose workers are assigned by rebalance.
func (p *pipeline) startConsumer() {
	if p.w.ending {
		return
	}
	n := p.w.start("consumer"+strconv.Itoa(len(p.consumers)+1), func(n *Node) error {
		<-n.ctx.Done()
		return nil
	})
	processor, err := inbox.New(inboxStore{db: p.db, node: n}, "reader", inbox.Config{Logger: silent()})
	if err != nil {
		p.failed = err
		return
	}
	p.group.processors[n] = processor
	p.consumers = append(p.consumers, n)
}

func (p *pipeline) startProducer() {
	k := &producer{p: p, left: int(3 + p.w.choose(6))}
	p.producers = append(p.producers, p.w.start("producer"+strconv.Itoa(len(p.producers)+1), k.run))
}

// ring notifies some of the relays of a commit.
func (p *pipeline) ring() {
	for _, n := range up(p.relays) {
		if p.w.choose(2) == 0 {
			n.ring()
		}
	}
}

func up(nodes []*Node) []*Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return !n.up() })
}

// heal implements scenario: unavailable parts come back, broken ones are fixed, and operators
// redrive parked records, for as long as it takes.
func (p *pipeline) heal() {
	p.healed = p.w.now()
	clear(p.broker.poison)
	clear(p.broker.away)
	if len(up(p.relays)) == 0 {
		p.startRelay()
	}
	if len(up(p.consumers)) == 0 {
		p.startConsumer()
	}
	p.group.rebalance(up(p.consumers))
	p.tend()
}

func (p *pipeline) tend() {
	p.putBack()            // relays may notice late that the log was emptied
	clear(p.broker.poison) // poison of messages that came later
	for p.db.redrive() != nil {
		continue
	}
	p.w.after(300*time.Millisecond, p.tend)
}

// produced implements scenario.
func (p *pipeline) produced() bool {
	for _, n := range p.producers {
		if done, _ := n.ended(); !done {
			return false
		}
	}
	return true
}

// settled implements scenario. In addition, each slot must have a relay that has written under its lease
// since the trouble ended.
func (p *pipeline) settled() bool {
	return p.led() && len(p.db.open) == 0 && len(p.db.held) == 0 && p.allPublished() && p.group.finished()
}

func (p *pipeline) led() bool {
	return !slices.ContainsFunc(p.db.slots, func(s *slot) bool { return s.lease.used <= p.healed })
}

func (p *pipeline) allPublished() bool {
	for i := range p.db.rows {
		id := p.db.rows[i].record.ID
		if p.db.committed[p.db.rows[i].xid] && p.broker.copies[id] == 0 && !p.db.given[id] {
			return false
		}
	}
	return true
}
