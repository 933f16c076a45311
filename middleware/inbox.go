package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

var (
	// ErrNoProcessor is returned for every message by an Inbox without a
	// Processor.
	ErrNoProcessor = errors.New("leat: middleware.Inbox has no Processor")

	// ErrNoOutbox is returned when a handler returns messages and the Inbox has no
	// Outbox to put them into. Publishing them after the commit could lose them,
	// and before it announce what then is rolled back.
	ErrNoOutbox = errors.New("leat: handler returned messages, but middleware.Inbox has no Outbox")

	// ErrNoPublishTopic is returned when a handler returns messages that was
	// registered without a topic to publish to.
	ErrNoPublishTopic = errors.New("leat: handler returned messages, but has no topic to publish to")
)

// Processor runs a handler once for each message. *inbox.Processor and all that
// embed it are one, such as *pginbox.Inbox.
type Processor interface {
	// Process is inbox.Processor's.
	Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error)
}

var _ Processor = (*inbox.Processor)(nil)

// Inbox makes each message take effect once. Its Middleware runs the handler in
// the transaction that records the message's id; the transaction is in
// msg.Context(), for pginbox.Tx and the like. Messages that the handler returns
// are put into the Outbox in the same transaction, under the topic that the
// handler was registered with, and none are returned to the router, which would
// publish them after the commit.
//
// The router acks after the commit, and nacks whatever failed, and messages of
// which another delivery is in progress (inbox.ErrBusy). Those are no failures:
// a Retry outside may try them again, a PoisonQueue outside must let them pass:
// give PoisonQueueWithFilter inbox.ShouldPoison.
type Inbox struct {
	// Processor is required.
	Processor Processor

	// Outbox stores the messages that handlers return. Its transactions must be
	// those of the Processor. Defaults to none: a handler that returns messages
	// fails.
	Outbox outbox.Enqueuer

	// KeyFunc gives the ordering keys of the messages that handlers return.
	// Defaults to outbox.KeyFromMetadata.
	KeyFunc outbox.KeyFunc
}

// Middleware wraps h. It is safe for concurrent use.
func (i Inbox) Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		if i.Processor == nil {
			return nil, ErrNoProcessor
		}
		outcome, err := i.Processor.Process(msg.Context(), msg, func(ctx context.Context) error {
			produced, err := h(msg)
			if err != nil {
				return err
			}
			return i.enqueue(ctx, message.PublishTopicFromCtx(ctx), produced)
		})
		if err == nil && outcome == inbox.OutcomeCommitted && i.Outbox != nil {
			i.Outbox.Wake()
		}
		return nil, err
	}
}

// enqueue takes the context of the transaction rather than the message's, which
// Watermill's Timeout has replaced by one that has ended.
func (i Inbox) enqueue(ctx context.Context, topic string, produced []*message.Message) error {
	if len(produced) == 0 {
		return nil
	}
	if i.Outbox == nil {
		return ErrNoOutbox
	}
	if topic == "" {
		return ErrNoPublishTopic
	}
	msgs := make([]outbox.Message, len(produced))
	for n, p := range produced {
		m, err := outbox.FromWatermill(topic, p, i.KeyFunc)
		if err != nil {
			return err
		}
		msgs[n] = m
	}
	if err := i.Outbox.EnqueueContext(ctx, msgs...); err != nil {
		return fmt.Errorf("leat: enqueue the handler's messages: %w", err)
	}
	return nil
}
