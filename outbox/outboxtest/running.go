package outboxtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// smallPages makes a few records many pages, and retries quickly.
func smallPages() relay.Config {
	return relay.Config{PageSize: 5, BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond}
}

// blocking is smallPages that gives no record up.
func blocking() relay.Config {
	cfg := smallPages()
	cfg.Policies = []relay.Policy{{Action: relay.Block}}
	return cfg
}

// shortLease is smallPages with a lease that a test can see run out.
func shortLease() relay.Config {
	cfg := smallPages()
	cfg.Lease = 2 * time.Second
	cfg.PublishTimeout = 500 * time.Millisecond
	cfg.LeaseMargin = 500 * time.Millisecond
	return cfg
}

// running is a Relay whose Run is under way.
type running struct {
	relay  *relay.Relay
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs a relay until it is stopped, by the end of the check at the latest.
func (tr *trial) start(ctx context.Context, source driver.Source, sink driver.Sink, cfg relay.Config) (*running, error) {
	r, err := relay.New(source, sink, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	run := &running{relay: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(run.done)
		run.err = r.Run(ctx)
	}()
	tr.cleanup(sync.OnceFunc(func() { _ = run.stop() }))
	return run, nil
}

// stop ends the relay cleanly and returns what Run returned.
func (r *running) stop() error {
	r.cancel()
	<-r.done
	if r.err != nil {
		return fmt.Errorf("run after a stop: %w", r.err)
	}
	return nil
}

// once runs a new relay once.
func (tr *trial) once(ctx context.Context, sink driver.Sink, cfg relay.Config) (int, error) {
	r, err := relay.New(tr.Source(testGroup), sink, cfg)
	if err != nil {
		return 0, err
	}
	return r.RunOnce(ctx)
}

// expectOnce runs a new relay once and expects n records to be acknowledged. It
// gives no record up.
func (tr *trial) expectOnce(ctx context.Context, sink driver.Sink, n int) error {
	got, err := tr.once(ctx, sink, blocking())
	if err != nil {
		return fmt.Errorf("run once: %w", err)
	}
	if got != n {
		return fmt.Errorf("run once: %d records acknowledged, want %d", got, n)
	}
	return nil
}
