package sim

import (
	"context"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// sink is a process's client of the broker.
type sink struct {
	b    *broker
	node *Node
}

var _ driver.Sink = sink{}

// Send implements driver.Sink. Records arrive in portions. If the context ends before all have
// arrived, the rest does not arrive. Only a process that was killed, or hangs, breaks that promise.
func (s sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	sent := &sending{
		b: s.b, node: s.node, records: slices.Clone(records),
		results: make([]outbox.Result, len(records)), stopped: make(map[driver.Key]bool),
	}
	o := op{name: "send", stalls: true, stubborn: true, late: true, admitted: func() { sent.began = s.b.w.now() }}
	err := s.node.call(ctx, o, sent.records[0].ID, sent.part, nil)
	if err == nil {
		return sent.results
	}
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailureOutage, err)
	}
	return results
}
