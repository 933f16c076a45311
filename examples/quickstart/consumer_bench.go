package main

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
)

// stumbleShare: one event in so many fails at first.
const stumbleShare = 100

// errStumble is why a handler fails that has done everything right.
var errStumble = errors.New("the handler stumbles after its writes")

// place is where a record stands in the topic.
type place struct {
	partition int32
	offset    int64
}

// consumerBench counts deliveries and makes some handlers fail.
type consumerBench struct {
	acked atomic.Int64

	mu       sync.Mutex
	doomed   map[string]bool // events that were the first of a partition
	stumbled map[place]bool  // records that have had their fall
}

func newConsumerBench() *consumerBench {
	return &consumerBench{doomed: map[string]bool{}, stumbled: map[place]bool{}}
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
// are done. So it does for each copy of the event.
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
	partition, _ := kafka.MessagePartitionFromCtx(msg.Context())
	offset, _ := kafka.MessagePartitionOffsetFromCtx(msg.Context())
	at := place{partition: partition, offset: offset}
	b.mu.Lock()
	defer b.mu.Unlock()
	if offset == 0 {
		b.doomed[msg.UUID] = true
	}
	if b.stumbled[at] || !b.doomed[msg.UUID] && !oneIn(stumbleShare, msg.UUID) {
		return false
	}
	b.stumbled[at] = true
	return true
}

// save writes the tally, for the checker.
func (b *consumerBench) save(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `INSERT INTO tallies (acked) VALUES ($1)`, b.acked.Load())
	return err
}

// oneIn chooses one id in n, always the same ones.
func oneIn(n uint32, id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%n == 0
}
