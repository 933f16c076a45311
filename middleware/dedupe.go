package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
)

var (
	// ErrNoDeduper is returned for every message by a Dedupe without a Processor.
	ErrNoDeduper = errors.New("leat: middleware.Dedupe has no Processor")

	// ErrNoPublisher is returned when a handler returns messages and the Dedupe has
	// no Publisher. Left to the router they would be published after the message
	// counts as done, where a crash loses them.
	ErrNoPublisher = errors.New("leat: handler returned messages, but middleware.Dedupe has no Publisher")
)

// Dedupe suppresses repeats for handlers whose effects are outside SQL. The
// guarantee is that of package dedupe: at least once, repeats suppressed while
// the store keeps its record, nothing lost. For effects in PostgreSQL take Inbox.
//
// The message's context inside the handler ends with cause dedupe.ErrLeaseLost
// when the lease cannot be kept; dedupe.FromContext tells the attempt.
//
// Messages that the handler returns are published before the message counts as
// done, and none are returned to the router. They can be published twice; give
// them ids that are a function of the message's, by inbox.ChildID. One that has the
// message's own id gets PassedOnID.
//
// A Processor remembers the messages of one handler: behind two of a router, the
// messages of both fail with dedupe.ErrTwoHandlers. Give each its own with
// handler.AddMiddleware.
type Dedupe struct {
	// Processor is required.
	Processor *dedupe.Processor

	// IDFrom finds the id of a message.
	// Defaults to the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource

	// ComparePayload makes a message fail with dedupe.ErrMismatch whose id was seen
	// with another payload. Defaults to false.
	ComparePayload bool

	// Publisher publishes the messages that handlers return, under the topic that
	// the handler was registered with. Defaults to none: a handler that returns
	// messages fails.
	Publisher message.Publisher
}

// Middleware wraps h. It is safe for concurrent use.
func (d Dedupe) Middleware(h message.HandlerFunc) message.HandlerFunc {
	if d.IDFrom == nil {
		d.IDFrom = inbox.DefaultIDSource()
	}
	return func(msg *message.Message) ([]*message.Message, error) {
		if d.Processor == nil {
			return nil, ErrNoDeduper
		}
		if err := d.Processor.OneHandler(message.HandlerNameFromCtx(msg.Context())); err != nil {
			return nil, err
		}
		id, err := d.IDFrom(msg)
		if err != nil {
			return nil, err
		}
		m := dedupe.Message{ID: id}
		if d.ComparePayload {
			m.Fingerprint = dedupe.Fingerprint(msg.Payload)
		}
		_, err = d.Processor.Do(msg.Context(), m, func(ctx context.Context) ([]byte, error) {
			return nil, d.handle(ctx, msg, h)
		})
		return nil, err
	}
}

// handle runs h with ctx as the message's context and publishes what it returns.
func (d Dedupe) handle(ctx context.Context, msg *message.Message, h message.HandlerFunc) error {
	orig := msg.Context()
	defer msg.SetContext(orig) //nolint:contextcheck // Retry and PoisonQueue outside must not meet one that has ended
	msg.SetContext(ctx)
	parent := parentOf(d.Processor, msg) //nolint:contextcheck // the message has ctx now
	produced, err := h(msg)
	switch {
	case err != nil:
		return err
	case len(produced) == 0:
		return nil
	case d.Publisher == nil:
		return ErrNoPublisher
	}
	topic := message.PublishTopicFromCtx(ctx)
	if topic == "" {
		return ErrNoPublishTopic
	}
	if err := d.Publisher.Publish(topic, parent.passOn(produced)...); err != nil {
		return fmt.Errorf("leat: publish the handler's messages: %w", err)
	}
	return nil
}
