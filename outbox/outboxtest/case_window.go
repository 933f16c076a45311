package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
)

func windowChecks() []Check {
	return []Check{
		{Name: "O2_LateCommitterIsRead", run: lateCommitterIsRead, skip: oneWriter},
		{Name: "O2_LateCommitterAfterHandover", run: lateCommitterAfterHandover, skip: oneWriter},
		{Name: "O2_LateCommitterBetweenPages", run: lateCommitterBetweenPages, skip: oneWriter},
		{Name: "O2_FullPageIsNotTheEnd", run: fullPageIsNotTheEnd},
		{Name: "O2_EmptyPageMeansNothingLeft", run: emptyPageMeansNothingLeft},
	}
}

// lateCommitterIsRead has transactions draw low numbers and commit after higher
// ones were read and settled.
func lateCommitterIsRead(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	early, err := tr.open(ctx, named("early-1")...)
	if err != nil {
		return err
	}
	middle, err := tr.open(ctx, named("middle-1")...)
	if err != nil {
		return err
	}
	steps := []struct {
		do   func() error
		want []string
	}{
		{func() error { return tr.commit(ctx, named("quick-1", "quick-2")...) }, []string{"quick-1", "quick-2"}},
		{func() error { return early.Enqueue(ctx, named("early-2")...) }, nil},
		{func() error { return tr.commit(ctx, named("quick-3")...) }, []string{"quick-3"}},
		{func() error { return middle.Commit(ctx) }, []string{"middle-1"}},
		{func() error { return early.Commit(ctx) }, []string{"early-1", "early-2"}},
		{func() error { return nil }, nil},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 1+i%2, step.want...); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// lateCommitterAfterHandover stores the position past the open transaction, by a
// release and by a crash.
func lateCommitterAfterHandover(ctx context.Context, tr *trial) error {
	for _, next := range []func(context.Context, *reader) (*reader, error){tr.hand, tr.takeOver} {
		late, err := tr.open(ctx, named("late")...)
		if err != nil {
			return err
		}
		if err := tr.commit(ctx, named("quick")...); err != nil {
			return err
		}
		r, err := tr.acquire(ctx)
		if err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 1, "quick"); err != nil {
			return err
		}
		if r, err = next(ctx, r); err != nil {
			return err
		}
		if err := late.Commit(ctx); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 1, "late"); err != nil {
			return err
		}
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lateCommitterBetweenPages commits low numbers while pages of higher ones are
// being read, and low numbers among many: more than a page of them.
func lateCommitterBetweenPages(ctx context.Context, tr *trial) error {
	late, err := tr.open(ctx, named(numbered("late", 5)...)...)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, named(numbered("quick", 5)...)...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	p, err := r.expectPage(ctx, 2, "quick-1", "quick-2")
	if err != nil {
		return err
	}
	if err := late.Commit(ctx); err != nil {
		return err
	}
	if err := tr.commit(ctx, named("last")...); err != nil {
		return err
	}
	if err := r.settle(ctx, p, 2); err != nil {
		return err
	}
	got, err := r.drain(ctx, 2)
	if err != nil {
		return err
	}
	return expectSet(got, slices.Concat(numbered("quick", 5)[2:], numbered("late", 5), []string{"last"}))
}

func fullPageIsNotTheEnd(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	for _, limit := range []int{1, 2, 3, 5, 9, 10, 11} {
		var want []string
		for _, part := range []int{4, 1, 5} {
			batch := numbered(fmt.Sprintf("limit %d part %d", limit, part), part)
			if err := tr.commit(ctx, named(batch...)...); err != nil {
				return err
			}
			want = append(want, batch...)
		}
		if err := r.expectDrain(ctx, limit, want...); err != nil {
			return fmt.Errorf("pages of %d: %w", limit, err)
		}
	}
	return nil
}

// emptyPageMeansNothingLeft reads ahead: as long as pages are not settled, an
// empty page that is not Waiting must not hide a committed record.
func emptyPageMeansNothingLeft(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, named("a-1", "a-2", "a-3")...); err != nil {
		return err
	}
	first, err := r.expectPage(ctx, 10, "a-1", "a-2", "a-3")
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, named("b-1", "b-2")...); err != nil {
		return err
	}
	ahead, err := r.page(ctx, 10)
	if err != nil {
		return err
	}
	if len(ahead.Records) == 0 && !ahead.Waiting {
		return errors.New("read: an empty page that is not Waiting hides records that had committed")
	}
	if err := r.settle(ctx, first, 3); err != nil {
		return err
	}
	var got []outbox.Record
	if len(ahead.Records) > 0 {
		got = append(got, ahead.Records...)
		if err := r.settle(ctx, ahead, len(ahead.Records)); err != nil {
			return err
		}
	}
	rest, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	return expect(append(got, rest...), "b-1", "b-2")
}
