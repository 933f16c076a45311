package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

func relayFaultChecks() []Check {
	return []Check{
		{Name: "Relay_O2_FaultsLoseNothing", run: faultsLoseNothing},
		{Name: "Relay_O5_NothingPassesAFailedRecord", run: nothingPassesAFailedRecord},
		{Name: "Relay_O12_PositionStopsAtTheFailure", run: positionStopsAtTheFailure},
	}
}

// faultsLoseNothing relays while a storm writes and the sink fails in every way
// it knows. Copies beyond the first come from lost acknowledgements alone.
func faultsLoseNothing(ctx context.Context, tr *trial) error {
	stalled := make(chan struct{})
	close(stalled)
	faults := []Fault{
		{After: 2},
		{After: 0, Kind: outbox.FailureOutage},
		Pass(),
		{After: 1, AckLost: true},
		{After: 0, AckLost: true, Kind: outbox.FailureOutage},
		{After: 0, AckLost: true, Stall: stalled},
		{After: 3, Kind: outbox.FailurePermanent},
	}
	lostAcks := 3
	broker := NewBroker()
	run, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(faults...), blocking())
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	<-writers.start(ctx, 3)
	if err := writers.err(); err != nil {
		return err
	}
	want := writers.names()
	log, err := broker.AwaitDistinct(ctx, len(want))
	if err != nil {
		return errors.Join(err, expectSet(distinct(log), want))
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 0); err != nil {
		return fmt.Errorf("after a clean stop: %w", err)
	}
	log = broker.Log()
	if most := len(want) + lostAcks*smallPages().PageSize; len(log) > most {
		return fmt.Errorf("broker has %d records, want at most %d: %d and those whose acknowledgement was lost",
			len(log), most, len(want))
	}
	return tr.verify(distinct(log), want)
}

// nothingPassesAFailedRecord fails the same record many times.
func nothingPassesAFailedRecord(ctx context.Context, tr *trial) error {
	want := numbered("m", 12)
	if err := tr.commit(ctx, keyed("k", want...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Sink(Fault{After: 2}, Fault{}, Fault{Kind: outbox.FailurePermanent}, Fault{}, Fault{After: 1})
	if err := tr.expectOnce(ctx, sink, len(want)); err != nil {
		return err
	}
	return expect(broker.Log(), want...)
}

// positionStopsAtTheFailure stops a relay whose only destination is out. The
// next one starts with the record that was refused.
func positionStopsAtTheFailure(ctx context.Context, tr *trial) error {
	want := numbered("m", 12)
	if err := tr.commit(ctx, named(want...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Sink(Pass(), Fault{After: 2, Kind: outbox.FailureOutage})
	refusing := make([]Fault, 10_000)
	for i := range refusing {
		refusing[i].Kind = outbox.FailureOutage
	}
	sink.Script(refusing...)
	run, err := tr.start(ctx, tr.Source(testGroup), sink, smallPages())
	if err != nil {
		return err
	}
	if err := sink.AwaitCalls(ctx, 5); err != nil {
		return err
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 5); err != nil {
		return fmt.Errorf("after 7 of 12 were acknowledged: %w", err)
	}
	return expect(broker.Log(), want...)
}
