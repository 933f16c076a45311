package middleware

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/outbox"
)

// InboxConfig tunes NewInbox. Either Processor or For is required.
type InboxConfig struct {
	// Processor is the inbox of the only handler that the middleware wraps. If two handlers share
	// it, the messages of both fail with inbox.ErrTwoHandlers. Either Processor or For is
	// required.
	Processor inbox.Runner

	// For returns the inbox of the handler with this name in Watermill's router, such as
	// pginbox.Inbox.For. It is called once for each handler, when its first message arrives, and
	// again after an error, which fails the message. It must be safe for concurrent use. A
	// message that did not come through a router fails.
	//
	// The inbox should be named after the handler. A renamed handler remembers no messages:
	// redeliveries run again. An EventGroupProcessor of package cqrs gives its whole group one
	// handler of the router, and so one inbox and one transaction; an EventProcessor gives each
	// event handler its own.
	For func(handler string) (inbox.Runner, error)

	// Outbox stores the messages that handlers return. Its transactions must be
	// those of the Processor. Defaults to none: a handler that returns messages
	// fails with ErrNoDestination.
	Outbox outbox.Enqueuer

	// KeyFunc returns the ordering keys of the messages that handlers return. It needs an Outbox.
	// Defaults to outbox.KeyFromMetadata.
	KeyFunc outbox.KeyFunc
}

func (c InboxConfig) validate() error {
	switch {
	case c.Processor == nil && c.For == nil:
		return outbox.ConfigError("InboxConfig.Processor", nil, "is required where For is not set")
	case c.Processor != nil && c.For != nil:
		return outbox.ConfigError("InboxConfig.For", "set", "must not be set beside Processor")
	case c.KeyFunc != nil && c.Outbox == nil:
		return outbox.ConfigError("InboxConfig.KeyFunc", "set", "has no meaning without Outbox")
	default:
		return nil
	}
}

// NewInbox returns a middleware that makes each message take effect once. It runs the handler in
// the transaction that records the message's id; the transaction is in msg.Context(), for
// pginbox.Tx and the like. Messages that the handler returns are put into the Outbox in the same
// transaction, under the topic that the handler was registered with, and none are returned to the
// router, which would publish them after the commit. A returned message with the id of the
// handled message gets another id, and its former id as metadata HeaderParentID.
//
// The handler gets its own copy of the message: Ack on it does nothing, and Nack makes the
// delivery fail with inbox.ErrAckedBeforeCommit. Changes of the copy's UUID, payload and metadata
// are also made to the message outside.
//
// The router acks after the commit. It nacks failed messages, and messages of which another
// delivery is in progress (inbox.ErrBusy). The latter are not failures: a Retry outside may try
// them again, but a PoisonQueue outside must let them pass: give PoisonQueueWithFilter
// inbox.ShouldPoison.
//
// An inbox remembers the messages of one handler. So for a whole router use For:
//
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once)
//
// and for one handler use Processor, with handler.AddMiddleware. The middleware is safe for
// concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewInbox(cfg InboxConfig) (message.HandlerMiddleware, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return inboxes{cfg}.middleware, nil
}

// oneHandler is a Processor that detects when two handlers share it.
type oneHandler interface {
	OneHandler(name string) error
}

type inboxes struct{ cfg InboxConfig }

func (i inboxes) middleware(h message.HandlerFunc) message.HandlerFunc {
	find := finder(i.cfg)
	name := onehandler.Function(h)
	return func(msg *message.Message) ([]*message.Message, error) {
		processor, err := find(msg.Context())
		if err != nil {
			return nil, err
		}
		if one, ok := processor.(oneHandler); ok && message.HandlerNameFromCtx(msg.Context()) == "" {
			if err := one.OneHandler(name); err != nil {
				return nil, err
			}
		}
		parent, own := parentOf(processor, msg), lent.Of(msg)
		defer own.Settle(false)
		outcome, err := processor.Process(msg.Context(), msg, func(ctx context.Context) error {
			return own.To(ctx, func(msg *message.Message) error {
				produced, err := h(msg)
				if err != nil {
					return err
				}
				return i.enqueue(ctx, message.PublishTopicFromCtx(ctx), parent.passOn(produced))
			})
		})
		own.Settle(err == nil)
		if err == nil && outcome == inbox.OutcomeCommitted && i.cfg.Outbox != nil {
			i.cfg.Outbox.Wake()
		}
		return nil, err
	}
}

// enqueue uses the context of the transaction, not the message's, which Watermill's Timeout has
// replaced by one that has ended.
func (i inboxes) enqueue(ctx context.Context, topic string, produced []*message.Message) error {
	if len(produced) == 0 {
		return nil
	}
	if i.cfg.Outbox == nil {
		return fmt.Errorf("%w: set Outbox beside the Processor", ErrNoDestination)
	}
	if topic == "" {
		return errNoTopic
	}
	msgs := make([]outbox.Message, len(produced))
	for n, p := range produced {
		m, err := outbox.FromWatermill(topic, p, i.cfg.KeyFunc)
		if err != nil {
			return err
		}
		msgs[n] = m
	}
	if err := i.cfg.Outbox.EnqueueContext(ctx, msgs...); err != nil {
		return fmt.Errorf("leat: enqueue the handler's messages: %w", err)
	}
	return nil
}
