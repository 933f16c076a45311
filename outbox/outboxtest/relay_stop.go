package outboxtest

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/driver"
)

func relayStopChecks() []Check {
	return []Check{
		{Name: "Relay_O13_CleanStopReleases", run: cleanStopReleases},
		{Name: "Relay_O13_StopAwaitsAcks", run: stopAwaitsAcks},
		{Name: "Relay_O13_StopEndsAStalledSend", run: stopEndsAStalledSend},
		{Name: "Relay_O14_StandbyTakesOver", run: standbyTakesOver},
		{Name: "Relay_RunOnceFindsTheLeaseHeld", run: runOnceFindsTheLeaseHeld},
	}
}

func cleanStopReleases(ctx context.Context, tr *trial) {
	broker := NewBroker()
	for i := range 3 {
		tr.commit(ctx, named(fmt.Sprintf("m-%d", i+1))...)
		run := tr.start(ctx, tr.Source(testGroup), broker.Sink(), smallPages())
		broker.await(ctx, i+1)
		run.stop()
		var r *reader
		fail.In("right after a stop", func() { r = tr.acquire(ctx) })
		fail.In("right after a stop", func() { r.expectDrain(ctx, 10) })
		fail.If(r.Release(ctx))
	}
	expect(broker.Log(), numbered("m", 3)...)
}

// stopAwaitsAcks stops a relay between the delivery of a page and its
// acknowledgement, which comes while it drains.
func stopAwaitsAcks(ctx context.Context, tr *trial) {
	want := numbered("m", 8)
	tr.commit(ctx, named(want...)...)
	acks := make(chan struct{})
	broker := NewBroker()
	sink := broker.scripted(fault{After: everything, Stall: acks})
	run := tr.start(ctx, tr.Source(testGroup), sink, smallPages())
	broker.await(ctx, 5)
	run.cancel()
	close(acks)
	run.stop()
	sent := len(broker.Log())
	fail.In(fmt.Sprintf("%d records were acknowledged before the stop", sent), func() { tr.expectOnce(ctx, broker.Sink(), len(want)-sent) })
	expect(broker.Log(), want...)
}

// stopEndsAStalledSend stops a relay whose sink never answers. That takes no
// longer than PublishTimeout, and what was not acknowledged is sent again.
func stopEndsAStalledSend(ctx context.Context, tr *trial) {
	want := numbered("m", 3)
	tr.commit(ctx, named(want...)...)
	broker := NewBroker()
	sink := broker.scripted(fault{After: 1, Stall: make(chan struct{})})
	run := tr.start(ctx, tr.Source(testGroup), sink, shortLease())
	broker.await(ctx, 1)
	run.stop()
	fail.In("1 of 3 records was acknowledged before the stop", func() { tr.expectOnce(ctx, broker.Sink(), 2) })
	expect(broker.Log(), want...)
}

// standbyTakesOver runs two relays at once and stops the one that leads.
func standbyTakesOver(ctx context.Context, tr *trial) {
	broker := NewBroker()
	sinks := []*recordingSink{broker.scripted(), broker.scripted()}
	runs := make([]*running, len(sinks))
	for i, sink := range sinks {
		run := tr.start(ctx, tr.Source(testGroup), sink, shortLease())
		runs[i] = run
	}
	tr.commit(ctx, keyed("k", numbered("a", 20)...)...)
	broker.await(ctx, 20)
	leader, standby := 0, 1
	if sinks[0].Calls() == 0 {
		leader, standby = 1, 0
	}
	runs[leader].stop()
	tr.commit(ctx, keyed("k", numbered("b", 20)...)...)
	broker.await(ctx, 40, "after the leader's stop")
	runs[standby].stop()
	tr.expectOnce(ctx, broker.Sink(), 0)
	expect(distinct(broker.Log()), append(numbered("a", 20), numbered("b", 20)...)...)
}

func runOnceFindsTheLeaseHeld(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	_, err := tr.once(ctx, NewBroker().Sink(), smallPages())
	expectError("run once while the lease is held", err, driver.ErrLeaseHeld)
	fail.If(r.Release(ctx))
}
