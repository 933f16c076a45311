package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/wait"
)

func relayKillChecks() []Check {
	return []Check{
		{Name: "Relay_O2_KilledRelayLosesNothing", run: killedRelayLosesNothing},
		{Name: "Relay_O12_KilledBetweenAckAndAdvance", run: killedBetweenAckAndAdvance},
	}
}

// killedRelayLosesNothing runs two relays, cuts the one that leads off in the
// middle of a page while a storm writes, and lets the other take over.
func killedRelayLosesNothing(ctx context.Context, tr *trial) error {
	broker := NewBroker()
	// The third page of the first relay is delivered in part; its answer never
	// comes.
	victim := &severable{Source: tr.Source(testGroup)}
	dying := broker.Sink(Pass(), Pass(), Fault{After: 2, Stall: make(chan struct{})})
	first, err := tr.start(ctx, victim, dying, shortLease())
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("seed", numbered("seed", 20)...)...); err != nil {
		return err
	}
	if err := dying.AwaitCalls(ctx, 3); err != nil {
		return err
	}
	second, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(), shortLease())
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	done := writers.start(ctx, 4)
	victim.sever()
	first.cancel()
	<-first.done // with whatever error: nobody asks a process that was killed
	<-done
	if err := writers.err(); err != nil {
		return err
	}
	want := append(writers.names(), numbered("seed", 20)...)
	log, err := broker.AwaitDistinct(ctx, len(want))
	if err != nil {
		return errors.Join(err, expectSet(distinct(log), want))
	}
	if err := second.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 0); err != nil {
		return err
	}
	return tr.verify(distinct(broker.Log()), want)
}

// killedBetweenAckAndAdvance repeats the page that was acknowledged and not
// settled, and nothing before it.
func killedBetweenAckAndAdvance(ctx context.Context, tr *trial) error {
	want := numbered("m", 15)
	if err := tr.commit(ctx, keyed("k", want...)...); err != nil {
		return err
	}
	broker := NewBroker()
	victim := &severable{Source: tr.Source(testGroup)}
	acks := make(chan struct{})
	run, err := tr.start(ctx, victim, broker.Sink(Pass(), Fault{After: Everything, Stall: acks}), shortLease())
	if err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 10); err != nil {
		return err
	}
	if err := wait.For(ctx, 10*time.Millisecond); err != nil { // so that it has read ahead
		return err
	}
	victim.sever()
	close(acks)
	run.cancel()
	<-run.done // with whatever error: nobody asks a process that was killed
	next, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(), shortLease())
	if err != nil {
		return err
	}
	if log, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return fmt.Errorf("after the kill: %w, broker has %s", err, describe(log))
	}
	if err := next.stop(); err != nil {
		return err
	}
	log := broker.Log()
	if err := expect(distinct(log), want...); err != nil {
		return err
	}
	if most := len(want) + 2*smallPages().PageSize; len(log) > most {
		return fmt.Errorf("broker has %d records, want at most %d: two pages were not stored as settled", len(log), most)
	}
	return nil
}
