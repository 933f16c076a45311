package promleat_test

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/middleware/metrics"
)

// touch tells c of one event of each kind but that of an inbox.
func touch(ctx context.Context, c *metrics.Consumers) {
	c.OnDedupeDelivery(ctx, dedupe.DeliveryEvent{Key: dedupe.Key{Consumer: "billing"}, Outcome: dedupe.OutcomeRan})
	c.OnTwotierLook(ctx, twotier.LookEvent{Consumer: "loyalty"})
	done := func(*message.Message) ([]*message.Message, error) { return nil, nil }
	_, _ = c.Middleware(done)(message.NewMessageWithContext(ctx, "order-1", nil))
}
