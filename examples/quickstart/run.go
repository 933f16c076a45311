package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// run records what the services have observed of a run, and what no database contains.
type run struct {
	// over counts webhooks that are not in flight any more, acked the deliveries that the consumer
	// has acknowledged. storm is set when the calm phase is over.
	over, acked atomic.Int64
	storm       atomic.Bool

	mu      sync.Mutex
	entries entries
	doomed  map[string]bool // events that were the first of their partition in the storm
	effects map[string]bool // events whose delivery was acknowledged
}

// entries are the outcomes of the transactions of webhooks, by id.
type entries struct {
	// committedAt is when the commits returned.
	committedAt map[string]time.Time
	// calm are the messages of the calm phase, in which latency is measured. rolledBack are those whose
	// transaction was rolled back.
	calm, rolledBack map[string]bool
}

func newRun() *run {
	return &run{
		entries: entries{committedAt: map[string]time.Time{}, calm: map[string]bool{}, rolledBack: map[string]bool{}},
		doomed:  map[string]bool{}, effects: map[string]bool{},
	}
}

func (r *run) committed(w webhook) {
	at := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries.committedAt[w.ID] = at
	if w.index >= warmEvents && w.index < calmEvents {
		r.entries.calm[w.ID] = true
	}
}

func (r *run) rolledBack(id string) {
	r.over.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries.rolledBack[id] = true
}

func (r *run) acknowledged(id string) {
	r.acked.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.effects[id] {
		r.effects[id] = true
		r.over.Add(1)
	}
}

// doom reports whether a handler's first run for an event must fail, and makes it fail if first.
func (r *run) doom(id string, first bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first {
		r.doomed[id] = true
	}
	return r.doomed[id]
}
