package main

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/relay"
)

// relayBench tells the demo what a relay does, and stops one at its weakest
// moment: Kafka has acknowledged records, and the outbox does not know it yet.
type relayBench struct {
	stop       <-chan struct{}
	crashAfter int
	crashed    marker
	sent       int
}

var (
	_ relay.LeaseHook = (*relayBench)(nil)
	_ relay.SendHook  = (*relayBench)(nil)
)

func newRelayBench(ctx context.Context, s settings) *relayBench {
	return &relayBench{stop: ctx.Done(), crashAfter: s.CrashAfter, crashed: crashMarker(s.Dir)}
}

// OnRelayLease tells the demo who leads.
func (b *relayBench) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if e.Held {
		_ = report{Leading: true}.send()
	}
}

// OnRelaySend counts. The first relay that has sent CrashAfter records does not get
// out of it any more: the position stays where it is, and the demo kills it.
func (b *relayBench) OnRelaySend(_ context.Context, e relay.SendEvent) {
	acked := 0
	for _, r := range e.Results {
		if r.Err == nil {
			acked++
		}
	}
	b.sent += acked
	if b.crashAfter == 0 || b.sent < b.crashAfter || acked == 0 || b.crashed.set() {
		return
	}
	_ = report{Sent: b.sent, Unsettled: acked}.send()
	b.hold()
}

// hold returns when another relay was killed in our stead, or we are stopped.
func (b *relayBench) hold() {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !b.crashed.set() {
		select {
		case <-ticker.C:
		case <-b.stop:
			return
		}
	}
}
