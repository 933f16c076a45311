package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// cancelledIsNeverSent takes messages back, if the subject can: before their time, again,
// and when they are in the log.
func cancelledIsNeverSent(ctx context.Context, tr *trial) error {
	d, err := tr.delayed()
	if err != nil {
		return err
	}
	canceller, ok := tr.Subject.(admin.Scheduler)
	if !ok {
		return nil
	}
	at, err := d.in(ctx, 2*time.Second)
	if err != nil {
		return err
	}
	msgs := until(at, keyed("k", "kept", "cancelled", "too late")...)
	for i := range msgs {
		msgs[i].ID = string(msgs[i].Payload)
	}
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	cancel := func(id string, want bool) error {
		done, err := canceller.CancelDelayed(ctx, admin.CancelRequest{By: by(), ID: id})
		if err == nil && (done.Count > 0) != want {
			err = fmt.Errorf("%d were cancelled, want any: %t", done.Count, want)
		}
		if err != nil {
			return fmt.Errorf("cancel of %q: %w", id, err)
		}
		return nil
	}
	if err := errors.Join(cancel("cancelled", true), cancel("cancelled", false), cancel("never seen", false)); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.await(ctx, at); err != nil {
		return err
	}
	if err := d.expectArrivals(ctx, r, "kept", "too late"); err != nil {
		return err
	}
	return cancel("too late", false)
}

// delayIsRefused is about outboxes that cannot delay: a message that is sent before its
// NotBefore is worse than none.
func delayIsRefused(ctx context.Context, tr *trial) error {
	tx, err := tr.begin(ctx)
	if err != nil {
		return err
	}
	msgs := append(named("now"), until(time.Now().Add(time.Hour), named("later")...)...)
	if err := refusal(tx.Enqueue(ctx, msgs...), 1, "NotBefore"); err != nil {
		return err
	}
	if err := errors.Join(tx.Enqueue(ctx, named("after")...), tx.Commit(ctx)); err != nil {
		return err
	}
	return tr.expectAll(ctx, "after")
}
