package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func gapChecks() []Check {
	return []Check{
		{Name: "O2_ManyRollbacksLoseNothing", run: manyRollbacksLoseNothing},
		{Name: "O2_CutReadsLoseNothing", run: cutReadsLoseNothing},
		{Name: "O2_RetentionSparesLateCommits", run: retentionSparesLateCommits, skip: oneWriter},
	}
}

// manyRollbacksLoseNothing has more transactions roll back between those that commit than
// an outbox may care to remember one by one, and one that is older than all commit last.
func manyRollbacksLoseNothing(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, named(numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	const length = 80
	for round, next := range []func(context.Context, *reader) (*reader, error){tr.hand, tr.takeOver} {
		names := numbered(fmt.Sprintf("round %d", round), length/2)
		for i := range length {
			if err := tr.finish(ctx, false, named("rolled back")...); err != nil {
				return err
			}
			if i%2 == 0 {
				continue // two in a row, now and then
			}
			if err := tr.commit(ctx, named(names[i/2])...); err != nil {
				return err
			}
		}
		if err := r.expectDrain(ctx, 7, names...); err != nil {
			return fmt.Errorf("between rollbacks, round %d: %w", round, err)
		}
		if r, err = next(ctx, r); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 7); err != nil {
			return fmt.Errorf("in the next session, round %d: %w", round, err)
		}
	}
	if err := commitLate(ctx); err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 7, numbered("late", 3)...); err != nil {
		return fmt.Errorf("of a transaction that was open all the time: %w", err)
	}
	return r.Release(ctx)
}

// cutReadsLoseNothing cancels Reads at one moment after another. What a Read that fails may
// have read comes again, in the same session or, if that is broken, in the next one.
func cutReadsLoseNothing(ctx context.Context, tr *trial) error {
	const rounds = 16
	var want []string
	var got []outbox.Record
	var r *reader
	for round := range rounds {
		names := numbered(fmt.Sprintf("round %d", round), 3)
		if err := tr.commit(ctx, keyed("k", names...)...); err != nil {
			return err
		}
		want = append(want, names...)
		var err error
		if r == nil {
			if r, err = tr.acquireSoon(ctx); err != nil {
				return err
			}
		}
		cut, cancel := context.WithTimeout(ctx, time.Duration(round)*100*time.Microsecond)
		if round%4 == 0 {
			cancel()
		}
		p, err := r.Read(cut, 2)
		cancel()
		if err == nil {
			got = append(got, p.Records...)
			err = r.Advance(ctx, p, len(p.Records))
		}
		if err == nil || round%2 == 0 {
			if p, err = r.Read(ctx, 2); err == nil {
				got = append(got, p.Records...)
				err = r.Advance(ctx, p, len(p.Records))
			}
		}
		if err != nil {
			_ = r.Release(ctx) // it is broken; its lease may have to run out
			r = nil
		}
	}
	if r != nil {
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	r, err := tr.acquireSoon(ctx)
	if err != nil {
		return err
	}
	rest, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	got = append(got, rest...)
	if tr.features.LazyAdvance { // what was settled by a session that broke may come again
		seen := make(map[string]bool)
		got = slices.DeleteFunc(got, func(r outbox.Record) bool {
			again := seen[string(r.Payload)]
			seen[string(r.Payload)] = true
			return again
		})
	}
	if err := expect(got, want...); err != nil {
		return fmt.Errorf("through reads that were cut off: %w", err)
	}
	return r.Release(ctx)
}

// acquireSoon starts a session whose lease is short, and waits for that of the one before.
func (tr *trial) acquireSoon(ctx context.Context) (*reader, error) {
	for {
		s, err := tr.Source(testGroup).Acquire(ctx, time.Second)
		switch {
		case err == nil:
			return &reader{Session: s}, s.Renew(ctx, longTTL)
		case !errors.Is(err, driver.ErrLeaseHeld):
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if err := wait.For(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// retentionSparesLateCommits has retention run, if the subject can, while a transaction is
// open below what every group has settled, and again once it has committed.
func retentionSparesLateCommits(ctx context.Context, tr *trial) error {
	retainer, ok := tr.Subject.(Retainer)
	if !ok {
		return nil
	}
	if err := tr.commit(ctx, named(numbered("old", 3)...)...); err != nil {
		return err
	}
	late, err := tr.open(ctx, named(numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, named(numbered("quick", 3)...)...); err != nil {
		return err
	}
	if err := tr.expectAll(ctx, append(numbered("old", 3), numbered("quick", 3)...)...); err != nil {
		return err
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := late.Commit(ctx); err != nil {
		return err
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := tr.expectAll(ctx, numbered("late", 3)...); err != nil {
		return fmt.Errorf("of a transaction that was open when retention ran: %w", err)
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := tr.commit(ctx, named("next")...); err != nil {
		return err
	}
	if err := tr.expectAll(ctx, "next"); err != nil {
		return fmt.Errorf("after all was settled and retention has run: %w", err)
	}
	if tr.features.NoGroups || tr.features.NoHistory {
		return nil
	}
	r, err := acquireFrom(ctx, tr.Source("newcomer"))
	if err != nil {
		return err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	if len(got) == 0 || string(got[len(got)-1].Payload) != "next" {
		return fmt.Errorf("a new group reads %s behind what was deleted", describe(got))
	}
	return r.Release(ctx)
}
