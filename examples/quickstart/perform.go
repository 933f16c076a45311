package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// pollEvery is how often the demo checks whether a phase is over.
	pollEvery = 100 * time.Millisecond
	// stalled is how long nothing may move before the demo stops waiting. The checker then reports what
	// is missing.
	stalled = 20 * time.Second
)

// performance is one run of the services.
type performance struct {
	*stage
	crew     *crew
	progress *progress
	run      *run

	relays                         [2]*service
	consumer, duplicator, arriving *service
}

// perform runs the services: webhooks arrive calmly, then many while a relay is killed, then
// everything is delivered once more from the start.
func perform(ctx context.Context, st *stage) (r *run, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p := &performance{
		stage: st, crew: &crew{dir: st.settings.Dir, fail: fail}, progress: showProgress(ctx, st), run: newRun(),
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
			return nil, because(context.Cause(ctx), err)
		}
	}
	return p.run, nil
}

// because returns cause, if that is the reason why everything was stopped, and err otherwise.
func because(cause, err error) error {
	if cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (p *performance) startServices(ctx context.Context) (err error) {
	if p.settings.Sabotage == publishBeforeCommit {
		client, err := kgo.NewClient(kgo.SeedBrokers(p.settings.Brokers...), kgo.ProducerLinger(0))
		if err != nil {
			return err
		}
		p.later(func() error { client.Close(); return nil })
		p.producer.enqueue = publishInTransaction(client)
	}
	if p.relays[0], err = p.crew.relay("relay-1", p.settings); err != nil {
		return err
	}
	if err := p.relays[0].leads(ctx); err != nil {
		return err
	}
	if p.settings.Sabotage != idCursor { // two of those would send everything twice
		if p.relays[1], err = p.crew.relay("relay-2", p.settings); err != nil {
			return err
		}
	}
	// The relays are separate processes, and should notice at once.
	notify := func(ctx context.Context, _ *slog.Logger) error { return p.producer.notify(ctx) }
	if _, err := p.crew.serve(ctx, "notifier", notify); err != nil {
		return err
	}
	return p.startConsumer(ctx)
}

// startConsumer returns when the consumer has its partitions.
func (p *performance) startConsumer(ctx context.Context) (err error) {
	ready := make(chan (<-chan struct{}), 1)
	p.consumer, err = p.crew.serve(ctx, "consumer", func(ctx context.Context, log *slog.Logger) error {
		c := p.newConsumer(log)
		ready <- c.ready
		return c.serve(ctx)
	})
	if err != nil {
		return err
	}
	select {
	case <-<-ready:
		return nil
	case <-p.consumer.ended:
		return errors.Join(p.consumer.err, context.Cause(ctx))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// calm makes the first webhooks arrive, one by one, without failures. From then on there are
// copies.
func (p *performance) calm(ctx context.Context) (err error) {
	paced := func(ctx context.Context) <-chan int { return paced(ctx, calmEvents, calmRate) }
	if err := p.arrivals(ctx, paced); err != nil {
		return err
	}
	p.room(ctx, calmEvents, 1)
	p.run.storm.Store(true)
	p.arriving, err = p.crew.serve(ctx, "ingest", func(ctx context.Context, _ *slog.Logger) error {
		return p.arrivals(ctx, p.admitted)
	})
	if err != nil {
		return err
	}
	p.duplicator, err = p.crew.serve(ctx, "duplicator", func(ctx context.Context, _ *slog.Logger) error {
		return p.duplicate(ctx)
	})
	return err
}

// crash kills the leading relay when Kafka has acknowledged records to it that the outbox still
// counts as unsent. When the other relay has taken over, the killed one is started again.
func (p *performance) crash(ctx context.Context) error {
	if p.settings.CrashAfter == 0 {
		return nil
	}
	victim, r, err := p.caughtAtWork(ctx)
	if err != nil {
		return err
	}
	dead, heir := p.relays[victim], p.relays[1-victim]
	if err := dead.die(); err != nil {
		return err
	}
	if err := os.WriteFile(p.settings.crashedFile(), nil, 0o600); err != nil {
		return err
	}
	p.progress.say("%s killed (SIGKILL) with %s records sent, the last %s acknowledged by Kafka and not settled",
		dead.name, thousands(int64(r.Sent)), thousands(int64(r.Unsettled)))
	p.progress.enter("a relay is down")
	if err := heir.leads(ctx); err != nil {
		return err
	}
	p.relays[victim], err = p.crew.relay(dead.name, p.settings)
	p.progress.say("%s has taken over, %s is back and stands by", heir.name, dead.name)
	return err
}

// caughtAtWork waits for the relay that holds unsettled records. It is the first one, unless that
// has lost its lease on a very busy machine.
func (p *performance) caughtAtWork(ctx context.Context) (victim int, r report, err error) {
	for {
		select {
		case r = <-p.relays[0].reports:
			victim = 0
		case r = <-p.relays[1].reports:
			victim = 1
		case <-ctx.Done():
			return 0, r, context.Cause(ctx)
		}
		if r.Sent > 0 {
			return victim, r, nil
		}
	}
}

// arriveAll waits until the last webhook was received.
func (p *performance) arriveAll(ctx context.Context) error {
	select {
	case <-p.arriving.ended:
		return p.arriving.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drainOutbox waits until the relay has sent everything that it will send, and
// the duplicator has read it.
func (p *performance) drainOutbox(ctx context.Context) error {
	err := p.until(ctx, func() (int64, error) {
		if p.settings.Sabotage == idCursor {
			return p.producer.scan(ctx, p.producer.db, "id_cursor_left")
		}
		return p.producer.pending(ctx)
	})
	if err != nil {
		return err
	}
	return p.duplicator.end()
}

// consumeAll waits until the consumer has acknowledged everything in the topic, and its own relay
// has sent the resulting events.
func (p *performance) consumeAll(ctx context.Context) error {
	err := p.until(ctx, func() (int64, error) {
		acked, total, err := consumed(ctx, p.kafka, p.group, p.settings.Topic)
		return total - acked, err
	})
	if err != nil {
		return err
	}
	return p.until(ctx, func() (int64, error) { return p.stats.pending(ctx) })
}

// redeliver delivers the whole topic to the consumer once more: its group's offsets are reset.
func (p *performance) redeliver(ctx context.Context) error {
	if err := p.consumer.end(); err != nil {
		return fmt.Errorf("stop consumer: %w", err)
	}
	if err := rewind(ctx, p.kafka, p.group, p.settings.Topic); err != nil {
		return err
	}
	p.progress.say("the consumer's offsets are back at 0: the whole topic is delivered once more")
	if err := p.startConsumer(ctx); err != nil {
		return err
	}
	return p.consumeAll(ctx)
}

func (p *performance) stopServices(context.Context) error {
	errs := []error{p.consumer.end()}
	for _, r := range p.relays {
		if r != nil {
			errs = append(errs, r.end())
		}
	}
	return errors.Join(errs...)
}

// until waits until left returns 0. It also returns when nothing has moved for long: the checker
// then finds what is missing.
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
