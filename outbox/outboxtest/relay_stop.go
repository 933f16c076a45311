package outboxtest

import (
	"context"
	"errors"
	"fmt"

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

func cleanStopReleases(ctx context.Context, tr *trial) error {
	broker := NewBroker()
	for i := range 3 {
		if err := tr.commit(ctx, named(fmt.Sprintf("m-%d", i+1))...); err != nil {
			return err
		}
		run, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(), smallPages())
		if err != nil {
			return err
		}
		if _, err := broker.AwaitDistinct(ctx, i+1); err != nil {
			return err
		}
		if err := run.stop(); err != nil {
			return err
		}
		r, err := tr.acquire(ctx)
		if err != nil {
			return fmt.Errorf("right after a stop: %w", err)
		}
		if err := r.expectDrain(ctx, 10); err != nil {
			return fmt.Errorf("right after a stop: %w", err)
		}
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return expect(broker.Log(), numbered("m", 3)...)
}

// stopAwaitsAcks stops a relay between the delivery of a page and its
// acknowledgement, which comes while it drains.
func stopAwaitsAcks(ctx context.Context, tr *trial) error {
	want := numbered("m", 8)
	if err := tr.commit(ctx, named(want...)...); err != nil {
		return err
	}
	acks := make(chan struct{})
	broker := NewBroker()
	sink := broker.Sink(Fault{After: Everything, Stall: acks})
	run, err := tr.start(ctx, tr.Source(testGroup), sink, smallPages())
	if err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 5); err != nil {
		return err
	}
	run.cancel()
	close(acks)
	if err := run.stop(); err != nil {
		return err
	}
	sent := len(broker.Log())
	if err := tr.expectOnce(ctx, broker.Sink(), len(want)-sent); err != nil {
		return fmt.Errorf("%d records were acknowledged before the stop: %w", sent, err)
	}
	return expect(broker.Log(), want...)
}

// stopEndsAStalledSend stops a relay whose sink never answers. That takes no
// longer than PublishTimeout, and what was not acknowledged is sent again.
func stopEndsAStalledSend(ctx context.Context, tr *trial) error {
	want := numbered("m", 3)
	if err := tr.commit(ctx, named(want...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Sink(Fault{After: 1, Stall: make(chan struct{})})
	run, err := tr.start(ctx, tr.Source(testGroup), sink, shortLease())
	if err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 1); err != nil {
		return err
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 2); err != nil {
		return fmt.Errorf("1 of 3 records was acknowledged before the stop: %w", err)
	}
	return expect(broker.Log(), want...)
}

// standbyTakesOver runs two relays at once and stops the one that leads.
func standbyTakesOver(ctx context.Context, tr *trial) error {
	broker := NewBroker()
	sinks := []*RecordingSink{broker.Sink(), broker.Sink()}
	runs := make([]*running, len(sinks))
	for i, sink := range sinks {
		run, err := tr.start(ctx, tr.Source(testGroup), sink, shortLease())
		if err != nil {
			return err
		}
		runs[i] = run
	}
	if err := tr.commit(ctx, keyed("k", numbered("a", 20)...)...); err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 20); err != nil {
		return err
	}
	leader, standby := 0, 1
	if sinks[0].Calls() == 0 {
		leader, standby = 1, 0
	}
	if err := runs[leader].stop(); err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", numbered("b", 20)...)...); err != nil {
		return err
	}
	if log, err := broker.AwaitDistinct(ctx, 40); err != nil {
		return fmt.Errorf("after the leader's stop: %w, broker has %s", err, describe(log))
	}
	if err := runs[standby].stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 0); err != nil {
		return err
	}
	return expect(distinct(broker.Log()), append(numbered("a", 20), numbered("b", 20)...)...)
}

func runOnceFindsTheLeaseHeld(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := tr.once(ctx, NewBroker().Sink(), smallPages()); !errors.Is(err, driver.ErrLeaseHeld) {
		return unexpected("run once while the lease is held", err, driver.ErrLeaseHeld)
	}
	return r.Release(ctx)
}
