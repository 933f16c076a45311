package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// earlyThenCrash: a session that ends without a word has lost nothing of what it has read
// early. What it has settled may come again, in its order.
func earlyThenCrash(ctx context.Context, tr *trial) error {
	f, err := tr.followed(ctx)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "settled-1", "settled-2")...); err != nil {
		return err
	}
	if err := f.expectNext(ctx, "settled-1", "settled-2"); err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "read")...); err != nil {
		return err
	}
	if _, err := f.next(ctx, 10); err != nil {
		return err
	}
	r, err := tr.takeOver(ctx, f.reader)
	if err != nil {
		return err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	got = slices.DeleteFunc(got, func(r outbox.Record) bool { return r.Key == "" }) // of join
	want := []string{"settled-1", "settled-2", "read"}
	if len(got) == 0 || len(got) > len(want) {
		return fmt.Errorf("lost in a crash: %w", expect(got, want...))
	}
	return errors.Join(expect(got, want[len(want)-len(got):]...), r.Release(ctx))
}

// earlyPassesNoLateCommit: a transaction that commits behind what came early is read,
// whether the session was released or has crashed.
func earlyPassesNoLateCommit(ctx context.Context, tr *trial) error {
	for _, next := range []func(context.Context, *reader) (*reader, error){tr.hand, tr.takeOver} {
		f, err := tr.followed(ctx)
		if err != nil {
			return err
		}
		commitLate, err := tr.openLate(ctx, keyed("late", "late")...)
		if err != nil {
			return err
		}
		if err := tr.commit(ctx, named("early")...); err != nil {
			return err
		}
		if err := f.expectNext(ctx, "early"); err != nil {
			return err
		}
		r, err := next(ctx, f.reader)
		if err != nil {
			return err
		}
		if err := commitLate(ctx); err != nil {
			return err
		}
		got, err := r.drain(ctx, 10)
		if err != nil {
			return err
		}
		got = slices.DeleteFunc(got, func(r outbox.Record) bool { return r.Key == "" })
		if err := errors.Join(expect(got, "late"), r.Release(ctx)); err != nil {
			return fmt.Errorf("committed late: %w", err)
		}
	}
	return nil
}

// withdrawnComesAgain: what is taken back comes again with those behind it, in pages that
// can be held, but for what was acknowledged.
func withdrawnComesAgain(ctx context.Context, tr *trial) error {
	f, err := tr.followed(ctx)
	if err != nil {
		return err
	}
	var pages []driver.Page
	for _, msgs := range [][]outbox.Message{
		slices.Concat(keyed("a", "a1"), keyed("b", "b1"), keyed("a", "a2")), keyed("a", "a3"),
	} {
		if err := tr.commit(ctx, msgs...); err != nil {
			return err
		}
		p, err := f.next(ctx, 10)
		if err != nil {
			return err
		}
		if !p.Early || len(p.Records) != len(msgs) || !f.tailed.Current(p) {
			return fmt.Errorf("read %s early %t, want %d records that are to be sent", describe(p.Records), p.Early, len(msgs))
		}
		pages = append(pages, p)
	}
	f.tailed.Withdraw(pages[0], []int{1})
	f.tailed.Follow(false) // as a relay does that is disturbed
	for _, p := range pages {
		if f.tailed.Current(p) {
			return fmt.Errorf("%s is still to be sent after it was withdrawn", describe(p.Records))
		}
	}
	if err := tr.commit(ctx, keyed("a", "a4")...); err != nil {
		return err
	}
	f.joined = false
	p, err := f.next(ctx, 10)
	if err != nil {
		return fmt.Errorf("withdrawn: %w", err)
	}
	if err := expect(p.Records, "a1", "a2", "a3", "a4"); err != nil || p.Early {
		return fmt.Errorf("withdrawn, early %t: %w", p.Early, err)
	}
	if h, ok := f.Session.(driver.Holder); ok && !tr.features.NoHolder {
		err = h.Hold(ctx, p, len(p.Records), []driver.Holding{
			{Index: 0, Fate: driver.FatePark, Reason: "poison"},
			{Index: 1, Fate: driver.FateWait},
			{Index: 2, Fate: driver.FateWait},
			{Index: 3, Fate: driver.FateWait},
		})
	} else {
		err = f.settle(ctx, p, len(p.Records))
	}
	if err != nil {
		return err
	}
	return errors.Join(f.expectDrain(ctx, 10), f.Release(ctx))
}
