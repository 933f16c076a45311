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
type Processor = inbox.Runner

// Inbox makes each message take effect once. Its Middleware runs the handler in
// the transaction that records the message's id; the transaction is in
// msg.Context(), for pginbox.Tx and the like. Messages that the handler returns
// are put into the Outbox in the same transaction, under the topic that the
// handler was registered with, and none are returned to the router, which would
// publish them after the commit. One that has the id of the message that it was
// made of gets another; see PassedOnID.
//
// The router acks after the commit, and nacks whatever failed, and messages of
// which another delivery is in progress (inbox.ErrBusy). Those are no failures:
// a Retry outside may try them again, a PoisonQueue outside must let them pass:
// give PoisonQueueWithFilter inbox.ShouldPoison.
//
// An inbox remembers the messages of one handler. So a whole router takes For:
//
//	router.AddMiddleware(middleware.Inbox{For: in.For, Outbox: ob}.Middleware)
//
// and Processor is for one: handler.AddMiddleware(middleware.Inbox{Processor: in}.Middleware).
type Inbox struct {
	// Processor is the inbox of the one handler that Middleware wraps. Behind two,
	// the messages of both fail with inbox.ErrTwoHandlers. Either Processor or For is
	// required.
	Processor Processor

	// For returns the inbox of the handler with this name in Watermill's router, such
	// as pginbox.Inbox.For. It is called once a handler, when its first message comes,
	// and again after an error, which fails the message. It is safe for concurrent use.
	//
	// The inbox is to be called after the handler. A handler that gets another name
	// begins with an empty memory: what is delivered again runs again. An
	// EventGroupProcessor of package cqrs gives its whole group one handler of the
	// router, and so one inbox and one transaction; an EventProcessor gives each event
	// handler its own.
	For func(handler string) (Processor, error)

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
	find := i.finder()
	return func(msg *message.Message) ([]*message.Message, error) {
		processor, err := find(msg.Context())
		if err != nil {
			return nil, err
		}
		parent := parentOf(processor, msg)
		outcome, err := processor.Process(msg.Context(), msg, func(ctx context.Context) error {
			produced, err := h(msg)
			if err != nil {
				return err
			}
			return i.enqueue(ctx, message.PublishTopicFromCtx(ctx), parent.passOn(produced))
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
