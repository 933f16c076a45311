package sinktest

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
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

// muted returns a sink that has delivered a record, so that it has connections, and whose answers
// are withheld until the returned function is called.
func (tr *trial) muted(ctx context.Context) (driver.Sink, func(context.Context) error) {
	m, ok := tr.Subject.(Muter)
	if !ok {
		fail.With("%w: Muter", errLacks)
	}
	s := tr.connected(ctx)
	release, err := m.Mute(ctx)
	fail.If(err, "withhold answers")
	return s, release
}

// connected returns a sink that has delivered records of both topics.
func (tr *trial) connected(ctx context.Context) driver.Sink {
	s := tr.sink()
	page := append(tr.records(tr.Topics()[0], 5, 5), tr.records(tr.Topics()[1], 5, 5)...)
	tr.deliver(ctx, s, page)
	return s
}

// fails sends records for a short time in which none can be acknowledged, and which must be
// reported as an outage.
func (tr *trial) fails(ctx context.Context, s driver.Sink, records []outbox.Record) {
	results := tr.send(ctx, s, short, records)
	for i := range results {
		if results[i].Err == nil {
			fail.Now(nobodyHas(i))
		}
	}
	expectKinds(results, outbox.FailureOutage)
}

func nobodyHas(i int) error {
	return fmt.Errorf("%w: nobody can have acknowledged record %d", errLost, i)
}

func lostAnswers(ctx context.Context, tr *trial) {
	s, release := tr.muted(ctx)
	page := tr.records(tr.Topics()[0], 50, 7)
	tr.fails(ctx, s, page)
	fail.If(release(ctx))
	tr.deliver(ctx, s, page)
}

// lostAnswersThenRest repeats this: after each unknown fate it sends one more record of each key,
// while answers that were withheld before arrive at last.
func lostAnswersThenRest(ctx context.Context, tr *trial) {
	s := tr.connected(ctx)
	m, ok := tr.Subject.(Muter)
	if !ok {
		fail.With("%w: Muter", errLacks)
	}
	var pending []outbox.Record
	for range 3 {
		release, err := m.Mute(ctx)
		fail.If(err)
		pending = append(pending, tr.records(tr.Topics()[0], 20, 7)...)
		tr.fails(ctx, s, pending)
		late := make(chan error, 1)
		go func() { late <- release(ctx) }()
		err = fail.Caught(func() { tr.deliver(ctx, s, pending[:7]) })
		fail.IfAny(err, <-late)
		pending = pending[7:]
	}
	tr.deliver(ctx, s, pending)
}

// slowAnswers releases the answers once a record has arrived, while Send waits for them.
func slowAnswers(ctx context.Context, tr *trial) {
	s, release := tr.muted(ctx)
	page := tr.records(tr.Topics()[0], 20, 7)
	sent := make(chan error, 1)
	go func() { sent <- fail.Caught(func() { tr.deliver(ctx, s, page) }) }()
	fail.IfAny(tr.awaitArrival(ctx, page), release(ctx), <-sent)
	tr.once(ctx, 10+len(page))
}

// cancelledAmid cancels the context while the sink waits for answers.
func cancelledAmid(ctx context.Context, tr *trial) {
	s, release := tr.muted(ctx)
	page := tr.records(tr.Topics()[0], 20, 7)
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	var results []outbox.Result
	sent := make(chan error, 1)
	go func() {
		sent <- fail.Caught(func() { results = tr.send(sending, s, checkTimeout, page) })
	}()
	err := tr.awaitArrival(ctx, page)
	cancel()
	fail.IfAny(err, <-sent)
	fail.If(release(ctx))
	expectKinds(results, outbox.FailureOutage)
	tr.deliver(ctx, s, page)
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
