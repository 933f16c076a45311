package main

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/kafkasource"
)

// stumbleShare: one event in so many fails at first.
const stumbleShare = 100

// errStumble is why a handler fails that has done everything right.
var errStumble = errors.New("the handler stumbles after its writes")

var _ kafkasource.PartitionHook = (*consumerBench)(nil)

// place is where a record stands in the topic.
type place struct {
	partition int32
	offset    int64
}

// consumerBench counts deliveries and makes some handlers fail.
type consumerBench struct {
	settings settings

	dir   string
	storm marker
	ready sync.Once
	acked atomic.Int64

	mu       sync.Mutex
	begun    map[int32]bool // partitions with a record that the storm has seen
	stumbled map[place]bool // records that have had their fall
}

func newConsumerBench(s settings) *consumerBench {
	return &consumerBench{
		settings: s, dir: s.Dir, storm: stormMarker(s.Dir), begun: map[int32]bool{}, stumbled: map[place]bool{},
	}
}

// OnKafkasourcePartition tells the demo that the consumer has partitions, which all come at once
// where there is one consumer.
func (b *consumerBench) OnKafkasourcePartition(_ context.Context, e kafkasource.PartitionEvent) {
	if e.Assigned {
		b.ready.Do(func() { _ = report{Ready: true}.send() })
	}
}

// tally is a middleware around the inbox: it counts the deliveries that are
// acknowledged, repeats included.
func (b *consumerBench) tally(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err == nil {
			b.acked.Add(1)
		}
		return out, err
	}
}

// stumble is a middleware inside the inbox: for one event in a hundred, and for
// the first of each partition, the handler's first run fails when all its writes
// are done. So it does for each copy of the event. All that once the storm has begun.
func (b *consumerBench) stumble(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err == nil && b.stumbles(msg) {
			return nil, errStumble
		}
		return out, err
	}
}

func (b *consumerBench) stumbles(msg *message.Message) bool {
	r, ok := kafkasource.RecordFrom(msg.Context())
	if !ok || !b.storm.set() {
		return false
	}
	at := place{partition: r.Partition, offset: r.Offset}
	b.mu.Lock()
	defer b.mu.Unlock()
	doomed := doomedMarker(b.dir, msg.UUID)
	if !b.begun[r.Partition] {
		b.begun[r.Partition] = doomed.put() == nil
	}
	if b.stumbled[at] || !oneIn(stumbleShare, msg.UUID) && !doomed.set() {
		return false
	}
	b.stumbled[at] = true
	return true
}

// save writes the tally, for the checker.
func (b *consumerBench) save(ctx context.Context) (err error) {
	db, err := openConsumerDB(b.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tally, err := b.settings.On.statement("tally")
	if err == nil {
		_, err = db.ExecContext(ctx, tally, b.acked.Load())
	}
	return err
}

// oneIn chooses one id in n, always the same ones.
func oneIn(n uint32, id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%n == 0
}
