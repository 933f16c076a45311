package sinktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// killChecks returns the checks that RunKill runs.
func killChecks() []Check {
	return []Check{
		{Name: "O2_O8_KilledBetweenSends", run: killedBetween},
		{Name: "O2_O5_KilledAmidASend", run: killedAmid},
	}
}

// killedBetween kills the destination while nothing is in flight: every record of the calls that
// follow gets an outage, until it is back.
func killedBetween(ctx context.Context, tr *trial) {
	k, s := tr.killer(ctx)
	fail.If(k.Kill(ctx), "kill")
	page := tr.records(tr.Topics()[0], 100, 7)
	for range 3 {
		results := tr.send(ctx, s, short, page)
		if rest := unsent(page, results); len(rest) < len(page) {
			fail.With("%w: %d records by a destination that is dead", errLost, len(page)-len(rest))
		}
		expectKinds(results, outbox.FailureOutage)
	}
	fail.If(k.Revive(ctx), "revive")
	tr.relay(ctx, s, page, nil)
}

// killedAmid kills the destination while pages are being sent, one after another.
func killedAmid(ctx context.Context, tr *trial) {
	k, s := tr.killer(ctx)
	const pages, size = 60, 100
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		n := 0
		done <- fail.Caught(func() {
			tr.relay(ctx, s, tr.records(tr.Topics()[0], pages*size, 23), func() {
				if n++; n == pages/6 {
					close(started)
				}
			})
		})
	}()
	select {
	case <-started:
	case err := <-done:
		fail.With("all was sent before the kill: %w", err)
	case <-ctx.Done():
		fail.Now(ctx.Err())
	}
	fail.If(k.Kill(ctx), "kill")
	select {
	case err := <-done:
		fail.With("all was sent before the kill: %w", err)
	default:
	}
	fail.If(k.Revive(ctx), "revive")
	fail.If(<-done)
}

func (tr *trial) killer(ctx context.Context) (Killer, driver.Sink) {
	k, ok := tr.Subject.(Killer)
	if !ok {
		fail.With("%w: Killer", errLacks)
	}
	return k, tr.connected(ctx)
}

// relay sends records in pages of 100, each until it is fully acknowledged, as a relay does.
// After each page it calls sent, if that is not nil.
func (tr *trial) relay(ctx context.Context, s driver.Sink, records []outbox.Record, sent func()) {
	const size, timeout, pause = 100, 5 * time.Second, 50 * time.Millisecond
	for page := range slices.Chunk(records, size) {
		for {
			results := tr.send(ctx, s, timeout, page)
			if page = unsent(page, results); len(page) == 0 {
				break
			}
			notPermanent(results)
			if err := wait.For(ctx, pause); err != nil {
				fail.With("%d records of a page are left: %w", len(page), errors.Join(err, reason(results)))
			}
		}
		if sent != nil {
			sent()
		}
	}
}

// notPermanent fails if an outage was reported as a fault of a record.
func notPermanent(results []outbox.Result) {
	expectKinds(results, outbox.FailureOutage, outbox.FailureUnknown)
}

// reason returns the first failure that has a cause.
func reason(results []outbox.Result) error {
	for i := range results {
		if err := results[i].Err; err != nil && outbox.KindOf(err) != outbox.FailureNotSent {
			return err
		}
	}
	return nil
}
