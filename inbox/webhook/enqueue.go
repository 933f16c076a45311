package webhook

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Enqueue returns a function for New that puts each event into ob, in the transaction of the
// inbox, which must be one of ob's database. Give Config.AfterCommit ob.Wake.
//
// Convert converts an event to a message. If it is nil, outbox.FromWatermill is used, with topic.
// The message gets a new id, unless convert sets one other than the event's: ids of two senders
// may be the same. Metadata "webhook-id" has the event's id.
//
// Topic must not be empty if convert is nil. Errors wrap outbox.ErrInvalidConfig.
func Enqueue(
	ob outbox.Enqueuer, topic string, convert func(msg *message.Message) (outbox.Message, error),
) (func(ctx context.Context, msg *message.Message) error, error) {
	switch {
	case ob == nil:
		return nil, outbox.ConfigError("ob", nil, "must not be nil")
	case convert == nil && topic == "":
		return nil, outbox.ConfigError("topic", `""`, "must not be empty")
	case convert == nil:
		convert = func(msg *message.Message) (outbox.Message, error) { return outbox.FromWatermill(topic, msg, nil) }
	}
	return func(ctx context.Context, msg *message.Message) error {
		m, err := convert(msg)
		if err != nil {
			return err
		}
		if m.ID == msg.UUID {
			m.ID = ""
		}
		m.Topic = cmp.Or(m.Topic, topic)
		if err := ob.EnqueueContext(ctx, m); err != nil {
			return fmt.Errorf("leat: enqueue webhook %.200q: %w", msg.UUID, err)
		}
		return nil
	}, nil
}
