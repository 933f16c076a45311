package outboxtest

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

func releaseChecks() []Check {
	return []Check{
		{Name: "O10_NoRepeatsAcrossCleanStops", run: noRepeatsAcrossCleanStops},
		{Name: "O13_ReleasedLeaseIsFree", run: releasedLeaseIsFree},
	}
}

// noRepeatsAcrossCleanStops reads a log under many leases, a page each.
func noRepeatsAcrossCleanStops(ctx context.Context, tr *trial) error {
	want := numbered("m", 40)
	for i := 0; i < len(want); i += 8 {
		if err := tr.commit(ctx, named(want[i:i+8]...)...); err != nil {
			return err
		}
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	var got []outbox.Record
	for limit := 1; len(got) < len(want); limit = limit%6 + 1 {
		p, err := r.page(ctx, limit)
		if err != nil {
			return err
		}
		if len(p.Records) == 0 {
			break
		}
		if err := r.settle(ctx, p, len(p.Records)); err != nil {
			return err
		}
		got = append(got, p.Records...)
		if r, err = tr.hand(ctx, r); err != nil {
			return err
		}
	}
	rest, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	return expect(append(got, rest...), want...)
}

func releasedLeaseIsFree(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		if err := tr.expectHeld(ctx); err != nil {
			return err
		}
		next, err := tr.hand(ctx, r)
		if err != nil {
			return fmt.Errorf("right after a release: %w", err)
		}
		if next.Epoch() <= r.Epoch() {
			return fmt.Errorf("epoch %d after %d", next.Epoch(), r.Epoch())
		}
		r = next
	}
	return r.Release(ctx)
}
