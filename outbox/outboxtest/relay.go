package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

func relayFlowChecks() []Check {
	return []Check{
		{Name: "Relay_O3_NothingSentBeforeCommit", run: nothingSentBeforeCommit, skip: oneWriter},
		{Name: "Relay_O4_BrokerGetsWhatWasEnqueued", run: brokerGetsWhatWasEnqueued},
		{Name: "Relay_O10_FaultFreeRunSendsOnce", run: faultFreeRunSendsOnce},
		{Name: "Relay_O11_OpenTransactionDelaysNothing", run: relayIsNotDelayed, skip: oneWriter},
		{
			Name: "Relay_WakeReplacesPolling", run: wakeReplacesPolling,
			skip: func(f Features) bool { return f.NoWakes },
		},
	}
}

func nothingSentBeforeCommit(ctx context.Context, tr *trial) error {
	broker := NewBroker()
	sink := broker.Sink()
	tx, err := tr.open(ctx, named("a", "b")...)
	if err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, sink, 0); err != nil {
		return fmt.Errorf("while the transaction is open: %w", err)
	}
	if err := tr.finish(ctx, false, named("rolled back")...); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, sink, 2); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, sink, 0); err != nil {
		return fmt.Errorf("after everything was sent: %w", err)
	}
	return expect(broker.Log(), "a", "b")
}

// brokerGetsWhatWasEnqueued loses the acknowledgements of one call, so that the
// broker has two copies of some records.
func brokerGetsWhatWasEnqueued(ctx context.Context, tr *trial) error {
	want := tricky()
	if err := tr.commit(ctx, want...); err != nil {
		return err
	}
	broker := NewBroker()
	if err := tr.expectOnce(ctx, broker.Sink(Pass(), Fault{After: 2, AckLost: true}), len(want)); err != nil {
		return err
	}
	first := make(map[int64]outbox.Record)
	var distinct []outbox.Record
	log := broker.Log()
	for i := range log {
		copy1, repeated := first[log[i].Seq]
		if !repeated {
			first[log[i].Seq] = log[i]
			distinct = append(distinct, log[i])
			continue
		}
		if err := sameRecord(&copy1, &log[i]); err != nil {
			return fmt.Errorf("message %q: copies differ: %w", copy1.ID, err)
		}
	}
	if len(log) != len(want)+3 {
		return fmt.Errorf("broker has %d records, want %d and 3 repeats", len(log), len(want))
	}
	return sameAsEnqueued(distinct, want)
}

// faultFreeRunSendsOnce relays while a storm writes and a transaction that drew
// its numbers first stays open until the storm is over.
func faultFreeRunSendsOnce(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, named(numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	broker := NewBroker()
	run, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(), smallPages())
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	<-writers.start(ctx, 2)
	if err := writers.err(); err != nil {
		return err
	}
	want := writers.names()
	if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return errors.Join(err, expectSet(broker.Log(), want))
	}
	if err := commitLate(ctx); err != nil {
		return err
	}
	want = append(want, numbered("late", 3)...)
	if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return errors.Join(err, expectSet(broker.Log(), want))
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, broker.Sink(), 0); err != nil {
		return fmt.Errorf("after a clean stop: %w", err)
	}
	return tr.verify(broker.Log(), want)
}

// verify expects each of want exactly once, in key order.
func (tr *trial) verify(log []outbox.Record, want []string) error {
	if err := expectSet(log, want); err != nil {
		return err
	}
	if tr.features.NoKeyOrder {
		return nil
	}
	return expectOrder(log)
}

// distinct returns the first occurrence of each record.
func distinct(log []outbox.Record) []outbox.Record {
	var out []outbox.Record
	seen := make(map[int64]bool, len(log))
	for i := range log {
		if !seen[log[i].Seq] {
			seen[log[i].Seq] = true
			out = append(out, log[i])
		}
	}
	return slices.Clip(out)
}

func relayIsNotDelayed(ctx context.Context, tr *trial) error {
	held, err := tr.open(ctx, keyed("held", "late")...)
	if err != nil {
		return err
	}
	broker := NewBroker()
	for round := range 3 {
		if err := tr.commit(ctx, named(numbered(fmt.Sprintf("round%d", round), 7)...)...); err != nil {
			return err
		}
		if err := tr.expectOnce(ctx, broker.Sink(), 7); err != nil {
			return fmt.Errorf("while a transaction is open: %w", err)
		}
	}
	if err := held.Commit(ctx); err != nil {
		return err
	}
	return tr.expectOnce(ctx, broker.Sink(), 1)
}

// wakeReplacesPolling polls once an hour, and commits only when the relay has
// begun to wait for that.
func wakeReplacesPolling(ctx context.Context, tr *trial) error {
	cfg := smallPages()
	cfg.PollMin, cfg.PollMax = time.Hour, time.Hour
	broker := NewBroker()
	src := newIdleSource(tr.Source(testGroup))
	run, err := tr.start(ctx, src, broker.Sink(), cfg)
	if err != nil {
		return err
	}
	for i := range 5 {
		if err := src.await(ctx); err != nil {
			return fmt.Errorf("the relay did not come to rest: %w", err)
		}
		if err := tr.commit(ctx, named(fmt.Sprintf("m-%d", i+1))...); err != nil {
			return err
		}
		tr.Wake()
		if _, err := broker.AwaitDistinct(ctx, i+1); err != nil {
			return fmt.Errorf("message %d was not sent upon a wake: %w", i+1, err)
		}
	}
	if err := run.stop(); err != nil {
		return err
	}
	return expect(broker.Log(), numbered("m", 5)...)
}
