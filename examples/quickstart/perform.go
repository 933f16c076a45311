package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// pollEvery is how often the demo looks whether a phase is over.
	pollEvery = 100 * time.Millisecond
	// stalled is how long nothing may move before the demo stops waiting and lets
	// the checker say what is missing.
	stalled = 20 * time.Second
)

// performance is one run of the services.
type performance struct {
	*stage
	crew     *crew
	progress *progress

	relays     [2]*process
	consumer   *process
	duplicator *process
	ingest     *process
}

// perform lets the services run: webhooks arrive calmly, then many while a relay is
// killed, then everything is delivered once more from the start.
func perform(ctx context.Context, st *stage) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p := &performance{
		stage:    st,
		crew:     &crew{dir: st.settings.Dir, fail: fail},
		progress: showProgress(ctx, st),
	}
	defer p.progress.close()
	defer p.crew.stopAll()

	for _, phase := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"services start", p.startServices},
		{"calm", p.calm},
		{"webhooks arrive", p.crash},
		{"webhooks arrive", p.arriveAll},
		{"relay catches up", p.drainOutbox},
		{"consumer catches up", p.consumeAll},
		{"everything again", p.redeliver},
		{"services stop", p.stopServices},
	} {
		p.progress.enter(phase.name)
		if err := phase.do(ctx); err != nil {
			return because(context.Cause(ctx), err)
		}
	}
	return nil
}

// because prefers the reason for which everything was stopped.
func because(cause, err error) error {
	if cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (p *performance) startServices(ctx context.Context) (err error) {
	if p.relays[0], err = p.crew.start("relay-1", roleRelay, p.settings); err != nil {
		return err
	}
	if err := p.relays[0].await(ctx, leads); err != nil {
		return err
	}
	if p.settings.Sabotage != idCursor { // two of those would send everything twice
		if p.relays[1], err = p.crew.start("relay-2", roleRelay, p.settings); err != nil {
			return err
		}
	}
	if p.consumer, err = p.crew.start("consumer", roleConsumer, p.settings); err != nil {
		return err
	}
	return p.consumer.await(ctx, isReady)
}

// calm waits until the first webhooks have arrived, one by one, with nothing going
// wrong. From then on there are copies.
func (p *performance) calm(ctx context.Context) (err error) {
	if p.ingest, err = p.crew.start("ingest", roleIngest, p.settings); err != nil {
		return err
	}
	if err := p.ingest.await(ctx, wasCalm); err != nil {
		return err
	}
	p.duplicator, err = p.crew.start("duplicator", roleDuplicator, p.settings)
	return err
}

// arriveAll waits until the last webhook was received.
func (p *performance) arriveAll(ctx context.Context) error {
	select {
	case <-p.ingest.exited:
		return p.ingest.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drainOutbox waits until the relay has sent everything that it will send, and
// the duplicator has read it.
func (p *performance) drainOutbox(ctx context.Context) error {
	pending := p.on.pending
	if p.settings.Sabotage == idCursor {
		pending = p.settings.aheadOfCursor
	}
	err := p.until(ctx, func() (int64, error) { return pending(ctx, p.ingestDB) })
	if err != nil {
		return err
	}
	return p.duplicator.stop()
}

// consumeAll waits until the consumer has acknowledged all that is in the topic,
// and its own relay has sent what came of it.
func (p *performance) consumeAll(ctx context.Context) error {
	err := p.until(ctx, func() (int64, error) {
		acked, total, err := consumed(ctx, p.kafka, p.settings.Group, p.settings.Topic)
		return total - acked, err
	})
	if err != nil {
		return err
	}
	return p.until(ctx, func() (int64, error) { return p.on.pending(ctx, p.statsDB) })
}

// redeliver hands the whole topic to the consumer once more: its group forgets
// how far it was.
func (p *performance) redeliver(ctx context.Context) (err error) {
	if err := p.consumer.stop(); err != nil {
		return fmt.Errorf("stop consumer: %w", err)
	}
	if err := rewind(ctx, p.kafka, p.settings.Group, p.settings.Topic); err != nil {
		return err
	}
	p.progress.say("the consumer's offsets are back at 0: the whole topic is delivered once more")
	if p.consumer, err = p.crew.start("consumer", roleConsumer, p.settings); err != nil {
		return err
	}
	return p.consumeAll(ctx)
}

func (p *performance) stopServices(context.Context) error {
	errs := []error{p.consumer.stop()}
	for _, r := range p.relays {
		if r != nil {
			errs = append(errs, r.stop())
		}
	}
	return errors.Join(errs...)
}

// until waits until left returns 0. It also returns when nothing has moved for
// long: what is missing then is the checker's to find.
func (p *performance) until(ctx context.Context, left func() (int64, error)) error {
	last, moved := int64(-1), time.Now()
	for {
		n, err := left()
		switch {
		case err != nil:
			return err
		case n == 0:
			return nil
		case n != last:
			last, moved = n, time.Now()
		case time.Since(moved) > stalled:
			p.progress.say("%s: nothing has moved for %s, %s left", *p.progress.phase.Load(), stalled, thousands(n))
			return nil
		}
		if !wait(ctx, pollEvery) {
			return context.Cause(ctx)
		}
	}
}
