package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
)

// checkLikeKeys parks a message, then delivers others of keys that a collation could take
// for its key: they run, and what is redriven is that key alone.
func checkLikeKeys(ctx context.Context, s FailureSubject) error {
	p, err := openFor(s, parking())
	if err != nil {
		return err
	}
	keys := []string{"K", "k ", " k", "\u212a", "k\u0301"} // \u212a is the sign of Kelvin
	if err := park(ctx, p, "k", "k"); err != nil {
		return err
	}
	for _, key := range keys {
		err := wantDelivered(ctx, p, delivery(ctx, "of "+key, key), inbox.OutcomeCommitted, nil, writing(s, key))
		if err != nil {
			return fmt.Errorf("key %q behind a parked %q: %w", key, "k", err)
		}
	}
	left := make([]string, len(keys))
	for i, key := range keys {
		left[i] = "parked " + key
		if err := park(ctx, p, left[i], key); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	var redriven []string
	return errors.Join(
		redriveUntil(ctx, s, p, "k", func(_ context.Context, msg *message.Message) error {
			redriven = append(redriven, msg.UUID)
			return nil
		}, func() error { return wantParked(ctx, s, left...) }),
		wantOrder(redriven, "k"),
		wantEffects(ctx, s, keys...),
	)
}
