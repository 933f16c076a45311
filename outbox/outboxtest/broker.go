package outboxtest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
)

// Broker is a destination in memory: a log of everything that was delivered to
// it, duplicates and all. Any number of sinks may deliver to one Broker. It is
// safe for concurrent use.
type Broker struct {
	mu      sync.Mutex
	log     []outbox.Record
	changed chan struct{} // closed and replaced by each delivery
}

// NewBroker returns a Broker with an empty log.
func NewBroker() *Broker {
	return &Broker{changed: make(chan struct{})}
}

// Log returns the records in the order in which they were delivered. They are
// copies and share nothing with those that the sink was given.
func (b *Broker) Log() []outbox.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.log)
}

// Await returns the log once it satisfies enough, or the log as it is and the
// error of ctx. enough is called with each state of the log, under the lock.
func (b *Broker) Await(ctx context.Context, enough func(log []outbox.Record) bool) ([]outbox.Record, error) {
	for {
		b.mu.Lock()
		log, changed := slices.Clone(b.log), b.changed
		done := enough(b.log)
		b.mu.Unlock()
		if done {
			return log, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return log, ctx.Err()
		}
	}
}

// AwaitDistinct is Await for n different records.
func (b *Broker) AwaitDistinct(ctx context.Context, n int) ([]outbox.Record, error) {
	return b.Await(ctx, func(log []outbox.Record) bool {
		if len(log) < n {
			return false
		}
		seqs := make(map[int64]struct{}, n)
		for i := range log {
			seqs[log[i].Seq] = struct{}{}
		}
		return len(seqs) >= n
	})
}

func (b *Broker) deliver(records []outbox.Record) {
	if len(records) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range records {
		r.Payload = slices.Clone(r.Payload)
		r.Headers = maps.Clone(r.Headers)
		b.log = append(b.log, r)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}
