package inboxtest

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// checkLikeKeys parks a message, then delivers others of keys that a collation could take for its
// key: they run, and a redrive affects only that key.
func checkLikeKeys(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	keys := []string{"K", "k ", " k", "\u212a", "k\u0301"} // \u212a is the sign of Kelvin
	fail.If(park(ctx, p, "k", "k"))
	for _, key := range keys {
		fail.If(wantDelivered(ctx, p, delivery(ctx, "of "+key, key), inbox.OutcomeCommitted, nil, writing(s, key)), fmt.Sprintf("key %q behind a parked %q", key, "k"))
	}
	left := make([]string, len(keys))
	for i, key := range keys {
		left[i] = "parked " + key
		fail.If(park(ctx, p, left[i], key), fmt.Sprintf("key %q", key))
	}
	var redriven []string
	fail.IfAny(
		redriveUntil(ctx, s, p, "k", func(_ context.Context, msg *message.Message) error {
			redriven = append(redriven, msg.UUID)
			return nil
		}, func() error { return wantParked(ctx, s, left...) }),
		wantOrder(redriven, "k"),
		wantEffects(ctx, s, keys...),
	)
}
