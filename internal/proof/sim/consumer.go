package sim

import (
	"context"
	"slices"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// group is a consumer group: the assignment of its partitions, and their offsets.
type group struct {
	w         *World
	parts     []string
	logs      map[string][]entry
	committed map[string]int
	owner     map[string]int // by partition, the generation of the worker that may commit offsets
	ends      map[string]func()
	gen       int

	processors map[*Node]*inbox.Processor
	// handle handles one message in a process.
	handle func(ctx context.Context, n *Node, e entry) error
}

func newGroup(w *World, logs map[string][]entry, parts ...string) *group {
	return &group{
		w: w, parts: parts, logs: logs, committed: make(map[string]int), owner: make(map[string]int),
		ends: make(map[string]func()), processors: make(map[*Node]*inbox.Processor),
	}
}

// rebalance assigns all partitions anew to members.
func (g *group) rebalance(members []*Node) {
	if len(members) == 0 || g.w.ending {
		return
	}
	for _, part := range g.parts {
		n := members[g.w.choose(uint32(len(members)))] //nolint:gosec // few
		g.assign(part, n, g.processors[n])
	}
}

// finished reports whether all records were acknowledged.
func (g *group) finished() bool {
	return !slices.ContainsFunc(g.parts, func(part string) bool { return g.committed[part] < len(g.logs[part]) })
}

// worker reads one partition in a process, from the committed offset.
type worker struct {
	g         *group
	node      *Node
	processor *inbox.Processor
	part      string
	gen       int
}

// assign gives a partition to a process. Its former worker goes on for a while, until it learns that the
// partition is gone.
func (g *group) assign(part string, n *Node, processor *inbox.Processor) {
	if end := g.ends[part]; end != nil {
		g.w.after(3*g.w.latency(), func() { end(); g.w.roused = true })
	}
	g.gen++
	g.owner[part] = g.gen
	ctx, cancel := context.WithCancel(n.ctx)
	g.ends[part] = cancel
	k := &worker{g: g, node: n, processor: processor, part: part, gen: g.gen}
	n.spawn(func() { defer cancel(); k.run(ctx) })
}

type workerKey struct{}

// caller appends the worker's name to the identity of a call: a process can have two workers that handle
// the same message.
func caller(ctx context.Context, about string) string {
	name, _ := ctx.Value(workerKey{}).(string)
	return about + " " + name
}

func (k *worker) name() string { return k.part + "@" + strconv.Itoa(k.gen) }

// run handles one message after another; a message that fails is delivered again.
func (k *worker) run(ctx context.Context) {
	ctx = context.WithValue(ctx, workerKey{}, k.name())
	offset := -1
	for ctx.Err() == nil {
		var e entry
		at, from := 0, offset
		err := k.node.call(ctx, op{name: "fetch"}, k.name(), func() (progress, error) {
			log := k.g.logs[k.part]
			if at = from; from < 0 {
				at = k.g.committed[k.part]
			}
			if at >= len(log) {
				return blocked, nil
			}
			e = log[at]
			return answered, nil
		}, nil)
		if err == nil && k.g.w.broken == AckFirst {
			k.ack(ctx, e, at)
		}
		if err == nil && k.process(ctx, e) == nil {
			k.ack(ctx, e, at)
			offset = at + 1
		}
	}
}

func (k *worker) process(ctx context.Context, e entry) error {
	msg := message.NewMessageWithContext(ctx, e.id, []byte(e.payload))
	msg.Metadata.Set(outbox.HeaderKey, e.key)
	_, err := k.processor.Process(ctx, msg, func(ctx context.Context) error { return k.g.handle(ctx, k.node, e) })
	return err
}

// ack commits the offset, unless the partition has moved on. At worst, a lost ack causes a
// redelivery.
func (k *worker) ack(ctx context.Context, e entry, offset int) {
	o := op{name: "ack", faulty: true, stalls: true, late: true, admitted: func() {
		k.g.w.note(Event{What: Acked, Node: k.node.name, ID: e.id, Topic: e.topic, Key: e.key})
	}}
	_ = k.node.do(ctx, o, k.name(), func() error {
		if k.g.owner[k.part] == k.gen {
			k.g.committed[k.part] = max(k.g.committed[k.part], offset+1)
		}
		return nil
	})
}
