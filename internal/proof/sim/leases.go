package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

// leases is the scenario of workers that run handlers under leases of one store. Each message goes to
// several of them.
type leases struct {
	w     *World
	store *memdedupe.Store

	workers []*Node
	pending [][]string // by worker, the messages that it has not acknowledged
	runs    map[string][]leaseRun
	tokens  map[string]string
	failed  error
}

// leaseRun is a handler that has begun.
type leaseRun struct {
	node *Node
	ctx  context.Context //nolint:containedctx // the handler's
}

func newLeases(w *World) scenario {
	l := &leases{w: w, runs: make(map[string][]leaseRun), tokens: make(map[string]string)}
	l.store, l.failed = memdedupe.New(memdedupe.Config{})
	return l
}

// start implements scenario.
func (l *leases) start() {
	if l.failed != nil {
		return
	}
	messages := 2 + int(l.w.choose(6))
	for i := range 2 + int(l.w.choose(3)) {
		var list []string
		for m := range messages {
			list = slices.Insert(list, int(l.w.choose(uint32(len(list)+1))), "m"+strconv.Itoa(m)) //nolint:gosec // few
		}
		l.pending = append(l.pending, list)
		l.startWorker(i)
	}
	if !l.w.calm {
		l.w.after(l.w.between(50*time.Millisecond, time.Second), l.trouble)
	}
}

func (l *leases) startWorker(i int) {
	if l.w.ending {
		return
	}
	n := l.w.start("worker"+strconv.Itoa(i)+"."+strconv.Itoa(len(l.workers)), func(n *Node) error {
		p, err := dedupe.New(leaseStore{l: l, node: n}, "worker", dedupe.Config{Lease: leaseTime, BusyDelay: 50 * time.Millisecond, Logger: silent()})
		if err != nil {
			return err
		}
		return l.work(n, p, i)
	})
	l.workers = append(l.workers, n)
}

// work handles the messages that are pending for worker i, each until it is acknowledged.
func (l *leases) work(n *Node, p *dedupe.Processor, i int) error {
	for n.ctx.Err() == nil {
		var id string
		err := n.do(n.ctx, op{name: "next"}, "", func() error {
			if len(l.pending[i]) > 0 {
				id = l.pending[i][0]
			}
			return nil
		})
		switch {
		case err != nil:
			continue
		case id == "":
			return nil
		}
		_, err = p.Do(n.ctx, dedupe.Message{ID: id}, func(ctx context.Context) ([]byte, error) { return nil, l.handle(ctx, n, id) })
		if err != nil {
			continue
		}
		_ = n.do(n.ctx, op{name: "ack"}, "", func() error { // if this fails, the message is delivered again
			l.w.note(Event{What: Acked, Node: n.name, ID: id})
			l.pending[i] = slices.DeleteFunc(l.pending[i], func(other string) bool { return other == id })
			return nil
		})
	}
	return nil
}

// handle has an effect outside of any transaction.
func (l *leases) handle(ctx context.Context, n *Node, id string) error {
	var takes time.Duration
	err := n.do(ctx, op{name: "begin"}, id, func() error {
		l.runs[id] = append(l.runs[id], leaseRun{node: n, ctx: ctx})
		if l.w.choose(4) == 3 {
			takes = l.w.between(0, 2*leaseTime)
		}
		return nil
	})
	if err != nil {
		return err
	}
	o := op{name: "effect", faulty: true, stalls: true, stubborn: true, late: true, takes: takes}
	return n.do(ctx, o, id, func() error {
		if l.w.unlucky(15, BadHandler) {
			return errHandler
		}
		l.w.note(Event{What: Effect, Node: n.name, ID: id})
		return nil
	})
}

// trouble injects trouble now, and schedules itself again.
func (l *leases) trouble() {
	if l.w.calm {
		return
	}
	switch i := int(l.w.choose(uint32(len(l.pending)))); l.w.choose(6) { //nolint:gosec // few
	case 3, 4:
		l.kill(i)
	case 5:
		l.w.fault(Evict)
		id := "m" + strconv.Itoa(i)
		l.store.Forget(dedupe.Key{Consumer: "worker", ID: id})
		l.w.note(Event{What: Lost, ID: id})
	}
	l.w.after(l.w.between(50*time.Millisecond, 2*time.Second), l.trouble)
}

// kill kills the process of worker i and starts another.
func (l *leases) kill(i int) {
	name := "worker" + strconv.Itoa(i) + "."
	for _, n := range l.workers {
		done, _ := n.ended()
		if n.up() && !done && strings.HasPrefix(n.name, name) {
			l.w.fault(Crash)
			n.kill()
			l.w.after(l.w.between(10*time.Millisecond, 2*time.Second), func() { l.startWorker(i) })
		}
	}
}

// produced implements scenario.
func (l *leases) produced() bool { return true }

// heal implements scenario.
func (l *leases) heal() {}

// settled implements scenario.
func (l *leases) settled() bool {
	return l.failed == nil && !slices.ContainsFunc(l.pending, func(list []string) bool { return len(list) > 0 })
}
