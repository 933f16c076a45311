package outboxtest

import (
	"context"
	"errors"
	"fmt"
)

func relayExactlyOnceChecks() []Check {
	return unless(
		noPositions,
		Check{Name: "Relay_O10_ExactlyOnceThroughLostAnswers", run: exactlyOnceThroughLostAnswers},
		Check{Name: "Relay_O10_ExactlyOnceThroughAKill", run: exactlyOnceThroughAKill},
	)
}

// exactlyOnceThroughLostAnswers has every third transaction commit without an answer, and
// every fifth fail, while a storm writes.
func exactlyOnceThroughLostAnswers(ctx context.Context, tr *trial) error {
	broker := newExactBroker()
	src, err := tr.group(GroupConfig{Positions: true})
	if err != nil {
		return err
	}
	run, err := tr.start(ctx, src, broker.answers(func(call int) (commit bool, err error) {
		switch {
		case call%3 == 0:
			return true, ErrInjected
		case call%5 == 0:
			return false, ErrInjected
		default:
			return true, nil
		}
	}), smallPages())
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	<-writers.start(ctx, 7)
	if err := writers.err(); err != nil {
		return err
	}
	want := writers.names()
	if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return errors.Join(err, expectSet(broker.Log(), want))
	}
	if err := run.stop(); err != nil {
		return err
	}
	return tr.verify(broker.Log(), want)
}

// exactlyOnceThroughAKill kills a relay between the commit of a transaction and its answer,
// and lets the next one go on.
func exactlyOnceThroughAKill(ctx context.Context, tr *trial) error {
	want := numbered("m", 23)
	for i := 0; i < len(want); i += 4 {
		if err := tr.commit(ctx, keyed("k", want[i:min(i+4, len(want))]...)...); err != nil {
			return err
		}
	}
	src, err := tr.group(GroupConfig{Positions: true})
	if err != nil {
		return err
	}
	broker := newExactBroker()
	victim := &severable{Source: src}
	killed := make(chan struct{})
	first, err := tr.start(ctx, victim, broker.answers(func(call int) (bool, error) {
		if call == 3 {
			victim.sever()
			close(killed)
			return true, ErrInjected
		}
		return true, nil
	}), shortLease())
	if err != nil {
		return err
	}
	select {
	case <-killed:
	case <-first.done:
		return fmt.Errorf("run: %w", first.err)
	case <-ctx.Done():
		return fmt.Errorf("the third transaction did not come: %w", ctx.Err())
	}
	first.cancel()
	<-first.done // with whatever error: nobody asks a process that was killed
	if src, err = tr.group(GroupConfig{Positions: true}); err != nil {
		return err
	}
	second, err := tr.start(ctx, src, broker.answers(alwaysCommits), shortLease())
	if err != nil {
		return err
	}
	if log, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return fmt.Errorf("after the kill: %w, broker has %s", err, describe(log))
	}
	if err := second.stop(); err != nil {
		return err
	}
	return expect(broker.Log(), want...)
}
