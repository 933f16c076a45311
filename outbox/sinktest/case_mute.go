package sinktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func muteChecks() []Check {
	out := []Check{
		{Name: "O2_LostAnswersAreNoSuccess", run: lostAnswers},
		{Name: "O5_LostAnswersThenTheRest", run: lostAnswersThenRest},
		{Name: "O2_SlowAnswersAreWaitedFor", run: slowAnswers},
		{Name: "O13_CancelledAmidASend", run: cancelledAmid},
	}
	for i := range out {
		out[i].skip = func(f Features) bool { return f.NoMute }
	}
	return out
}

// muted returns a sink that has delivered a record, so that it has its connections, and whose
// answers are withheld until release is called.
func (tr *trial) muted(ctx context.Context) (s driver.Sink, release func(context.Context) error, err error) {
	m, ok := tr.Subject.(Muter)
	if !ok {
		return nil, nil, fmt.Errorf("%w: Muter", ErrLacks)
	}
	if s, err = tr.connected(ctx); err != nil {
		return nil, nil, err
	}
	if release, err = m.Mute(ctx); err != nil {
		return nil, nil, fmt.Errorf("withhold answers: %w", err)
	}
	return s, release, nil
}

// connected returns a sink that has delivered records of both topics.
func (tr *trial) connected(ctx context.Context) (driver.Sink, error) {
	s, err := tr.sink()
	if err != nil {
		return nil, err
	}
	page := append(tr.records(tr.Topics()[0], 5, 5), tr.records(tr.Topics()[1], 5, 5)...)
	return s, tr.deliver(ctx, s, page)
}

// fails sends records for a short time, in which none can be acknowledged, and which must look
// like an outage.
func (tr *trial) fails(ctx context.Context, s driver.Sink, records []outbox.Record) error {
	results, err := tr.send(ctx, s, short, records)
	if err != nil {
		return err
	}
	for i := range results {
		if results[i].Err == nil {
			return nobodyHas(i)
		}
	}
	return kindsAmong(results, outbox.FailureOutage)
}

func nobodyHas(i int) error {
	return fmt.Errorf("%w: nobody can have acknowledged record %d", errLost, i)
}

func lostAnswers(ctx context.Context, tr *trial) error {
	s, release, err := tr.muted(ctx)
	if err != nil {
		return err
	}
	page := tr.records(tr.Topics()[0], 50, 7)
	if err := tr.fails(ctx, s, page); err != nil {
		return err
	}
	if err := release(ctx); err != nil {
		return err
	}
	return tr.deliver(ctx, s, page)
}

// lostAnswersThenRest repeats it: after each unknown fate a record more of each key, while what was
// withheld before comes at last.
func lostAnswersThenRest(ctx context.Context, tr *trial) error {
	s, err := tr.connected(ctx)
	if err != nil {
		return err
	}
	m, ok := tr.Subject.(Muter)
	if !ok {
		return fmt.Errorf("%w: Muter", ErrLacks)
	}
	var pending []outbox.Record
	for range 3 {
		release, err := m.Mute(ctx)
		if err != nil {
			return err
		}
		pending = append(pending, tr.records(tr.Topics()[0], 20, 7)...)
		if err := tr.fails(ctx, s, pending); err != nil {
			return err
		}
		late := make(chan error, 1)
		go func() { late <- release(ctx) }()
		err = tr.deliver(ctx, s, pending[:7])
		if err := errors.Join(err, <-late); err != nil {
			return err
		}
		pending = pending[7:]
	}
	return tr.deliver(ctx, s, pending)
}

// slowAnswers releases the answers once a record has arrived, while Send waits for them.
func slowAnswers(ctx context.Context, tr *trial) error {
	s, release, err := tr.muted(ctx)
	if err != nil {
		return err
	}
	page := tr.records(tr.Topics()[0], 20, 7)
	sent := make(chan error, 1)
	go func() { sent <- tr.deliver(ctx, s, page) }()
	err = errors.Join(tr.awaitArrival(ctx, page), release(ctx), <-sent)
	if err != nil {
		return err
	}
	return tr.once(ctx, 10+len(page))
}

// cancelledAmid cancels the context while the sink waits for answers.
func cancelledAmid(ctx context.Context, tr *trial) error {
	s, release, err := tr.muted(ctx)
	if err != nil {
		return err
	}
	page := tr.records(tr.Topics()[0], 20, 7)
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		results []outbox.Result
		err     error
	}
	sent := make(chan answer, 1)
	go func() {
		results, err := tr.send(sending, s, checkTimeout, page)
		sent <- answer{results, err}
	}()
	err = tr.awaitArrival(ctx, page)
	cancel()
	a := <-sent
	if err := errors.Join(err, a.err); err != nil {
		return err
	}
	if err := errors.Join(kindsAmong(a.results, outbox.FailureOutage), release(ctx)); err != nil {
		return err
	}
	return tr.deliver(ctx, s, page)
}

// awaitArrival waits until one of the records has arrived.
func (tr *trial) awaitArrival(ctx context.Context, records []outbox.Record) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if there, err := tr.hasArrived(ctx, records...); there || err != nil {
			return err
		}
		if err := wait.For(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("none of %d records has arrived: %w", len(records), err)
		}
	}
}
