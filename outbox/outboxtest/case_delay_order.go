package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// delayedTakesItsPlace enqueues messages of a key in another order than that of their
// times, and one that is not delayed last.
func delayedTakesItsPlace(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	for _, msgs := range [][]outbox.Message{
		until(at.Add(20*time.Millisecond), keyed("k", "third")...),
		until(at, keyed("k", "first", "second")...),
		keyed("k", "at once"),
	} {
		if err := tr.commit(ctx, msgs...); err != nil {
			return err
		}
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.await(ctx, at.Add(20*time.Millisecond)); err != nil {
		return err
	}
	if err := d.expectArrivals(ctx, r, "at once", "first", "second", "third"); err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "last")...); err != nil {
		return err
	}
	return r.expectDrain(ctx, 10, "last")
}

// delayedWaitsForItsKey has messages become due while a transaction holds their key: they
// stay, nothing waits for that transaction, and those of other keys go.
func delayedWaitsForItsKey(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	err = tr.commit(ctx, until(at, append(keyed("held", "held-1", "held-2"), append(keyed("free", "free"), named("no key")...)...)...)...)
	if err != nil {
		return err
	}
	open, err := tr.open(ctx, keyed("held", "before")...)
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.await(ctx, at); err != nil {
		return err
	}
	got, err := d.arrive(ctx, r, 2)
	if err != nil {
		return fmt.Errorf("while a transaction holds another key: %w", err)
	}
	if err := expectSet(got, []string{"free", "no key"}); err != nil {
		return fmt.Errorf("while a transaction holds the key %q: %w", "held", err)
	}
	if err := open.Commit(ctx); err != nil {
		return err
	}
	return d.expectArrivals(ctx, r, "before", "held-1", "held-2")
}

// delayedByTwoPromoters runs several promoters at once over many messages of few keys.
func delayedByTwoPromoters(ctx context.Context, tr *trial) error {
	const promoters, keys, each = 3, 7, 20
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	at, err := d.in(ctx, soon)
	if err != nil {
		return err
	}
	var want []string
	for k := range keys {
		names := numbered(fmt.Sprintf("key%d", k), each)
		if err := tr.commit(ctx, until(at, keyed(fmt.Sprintf("key%d", k), names...)...)...); err != nil {
			return err
		}
		want = append(want, names...)
	}
	if err := d.await(ctx, at); err != nil {
		return err
	}
	done := make(chan error, promoters)
	for range promoters {
		go func() {
			var errs []error
			for range 5 {
				errs = append(errs, d.Promote(ctx))
			}
			done <- errors.Join(errs...)
		}()
	}
	var errs []error
	for range promoters {
		errs = append(errs, <-done)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	got, err := d.arrive(ctx, r, len(want))
	if err != nil {
		return err
	}
	return errors.Join(expectSet(got, want), tr.expectNumbered(got))
}

// expectNumbered expects the records of each key in the order of their names' numbers.
func (tr *trial) expectNumbered(got []outbox.Record) error {
	if tr.features.NoKeyOrder {
		return nil
	}
	next := make(map[string]int)
	for i := range got {
		key := got[i].Key
		next[key]++
		if want := fmt.Sprintf("%s-%d", key, next[key]); string(got[i].Payload) != want {
			return fmt.Errorf("key %q: read %.40s where %s was expected", key, got[i].Payload, want)
		}
	}
	return nil
}
