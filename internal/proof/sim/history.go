package sim

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"time"
)

// What is the kind of an Event.
type What string

// What can happen.
const (
	Inserted  What = "inserted"  // a row was written, not committed
	Committed What = "committed" // the row's transaction has committed
	Landed    What = "landed"    // the broker has appended the record
	Failed    What = "failed"    // a sink was told that the record itself failed
	Settled   What = "settled"   // a position has passed the record
	HeldBack  What = "held"      // a record was set aside; Note is its fate
	Resolved  What = "resolved"  // a held record was tried again; Note is its fate
	Redriven  What = "redriven"  // operators have redriven the record
	Stale     What = "stale"     // a write under a lease that was lost took effect
	Leased    What = "leased"    // a lease was taken; N is its epoch
	Freed     What = "freed"     // the lease was released
	Effect    What = "effect"    // a handler's effect has committed or happened
	Acked     What = "acked"     // a delivery will be acknowledged
	Claimed   What = "claimed"   // a run under a lease has begun; Note is its token
	Extended  What = "extended"  // its lease was extended
	Released  What = "released"  // its lease was released before completion
	Completed What = "completed" // it was completed
	Overlap   What = "overlap"   // a run was taken over before its context ended
	Lost      What = "lost"      // a record of the store was evicted
	Attempted What = "attempted" // a handler may run; this counts as attempt N
	Withdrawn What = "withdrawn" // an attempt was withdrawn and does not count
	Started   What = "started"   // a handler runs
	Parked    What = "parked"    // a message was parked after N attempts; behind others if N is -1
	Crashed   What = "crashed"   // a replica was killed
	step      What = "step"      // a step of a call
)

// Event is one entry of a history.
type Event struct {
	// At is the virtual time since the start.
	At time.Duration
	// What happened, and in which process.
	What What
	Node string
	// ID, Topic, Key and Seq are the fields of the record.
	ID, Topic, Key string
	Seq            int64
	// Since is the time at which the call that delivered the record began. It is set for Landed.
	Since time.Duration
	// N and Note depend on What.
	N    int64
	Note string
}

// String formats the event for human readers.
func (e Event) String() string {
	return fmt.Sprintf("%12s %-9s %-10s %s %s/%s #%d n=%d %s",
		e.At.Round(time.Microsecond), e.What, e.Node, e.ID, e.Topic, e.Key, e.Seq, e.N, e.Note)
}

// history is the list of events. Only the scheduler writes to it.
type history struct {
	events []Event
	steps  int
	trace  bool // keep the steps of calls, too
	sum    hash.Hash64
	buf    []byte
}

func newHistory(trace bool) *history {
	return &history{sum: fnv.New64a(), trace: trace}
}

func (h *history) add(e Event) {
	b := binary.LittleEndian.AppendUint64(h.buf[:0], uint64(e.At)) //nolint:gosec // any bits will do
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Since))       //nolint:gosec // any bits will do
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Seq))         //nolint:gosec // any bits will do
	b = binary.LittleEndian.AppendUint64(b, uint64(e.N))           //nolint:gosec // any bits will do
	for _, s := range [...]string{string(e.What), e.Node, e.ID, e.Topic, e.Key, e.Note} {
		b = append(append(b, s...), 0)
	}
	h.buf = b
	_, _ = h.sum.Write(b) // it never fails
	if e.What == step {
		h.steps++
	}
	if e.What != step || h.trace {
		h.events = append(h.events, e)
	}
}
