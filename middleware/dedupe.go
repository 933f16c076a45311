package middleware

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/outbox"
)

// DedupeConfig tunes NewDedupe. Processor is required.
type DedupeConfig struct {
	// Processor remembers the messages of one handler: if two handlers of a router share it, the
	// messages of both fail with inbox.ErrTwoHandlers. Required.
	Processor *dedupe.Processor

	// IDFrom finds the id of a message.
	// Defaults to the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource

	// ComparePayload makes a message fail with dedupe.ErrMismatch if its id was seen with another
	// payload. Defaults to false.
	ComparePayload bool

	// Publisher publishes the messages that handlers return, under the topic that
	// the handler was registered with. Defaults to none: a handler that returns
	// messages fails with ErrNoDestination.
	Publisher message.Publisher
}

// NewDedupe returns a middleware that suppresses repeats for handlers whose effects are outside
// SQL. The guarantee is that of package dedupe: at least once, repeats suppressed while the store
// keeps its record, nothing lost. For effects in PostgreSQL use NewInbox.
//
// The message's context inside the handler ends with cause dedupe.ErrLeaseLost when the lease
// cannot be kept; dedupe.FromContext returns the attempt.
//
// Messages that the handler returns are published before the message counts as done, and none are
// returned to the router. They can be published twice; give them ids derived from the message's,
// by inbox.ChildID. A message with the handled message's own id gets such an id.
//
// Give each handler of a router a Processor of its own, with handler.AddMiddleware. The
// middleware is safe for concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewDedupe(cfg DedupeConfig) (message.HandlerMiddleware, error) {
	if cfg.Processor == nil {
		return nil, outbox.ConfigError("DedupeConfig.Processor", nil, "is required")
	}
	if cfg.IDFrom.Find == nil && cfg.IDFrom.Name == "" {
		cfg.IDFrom = inbox.DefaultIDSource()
	}
	if err := cfg.IDFrom.Check(); err != nil {
		return nil, err
	}
	return deduper{cfg}.middleware, nil
}

type deduper struct{ cfg DedupeConfig }

func (d deduper) middleware(h message.HandlerFunc) message.HandlerFunc {
	name := onehandler.Function(h)
	return func(msg *message.Message) ([]*message.Message, error) {
		handler := message.HandlerNameFromCtx(msg.Context())
		handler = cmp.Or(handler, name)
		if err := d.cfg.Processor.OneHandler(handler); err != nil {
			return nil, err
		}
		if err := d.cfg.Processor.NameIDs(msg.Context(), d.cfg.IDFrom.Name); err != nil {
			return nil, err
		}
		id, err := d.cfg.IDFrom.Find(msg)
		if err != nil {
			return nil, err
		}
		m := dedupe.Message{ID: id}
		if d.cfg.ComparePayload {
			m.Fingerprint = dedupe.Fingerprint(msg.Payload)
		}
		own := lent.Of(msg)
		defer own.Settle(false)
		_, err = d.cfg.Processor.Do(msg.Context(), m, func(ctx context.Context) ([]byte, error) {
			return nil, own.To(ctx, func(msg *message.Message) error { return d.handle(ctx, msg, h) })
		})
		own.Settle(err == nil)
		return nil, err
	}
}

// handle runs h and publishes what it returns. The handler gets its own copy of the message, with
// ctx.
func (d deduper) handle(ctx context.Context, msg *message.Message, h message.HandlerFunc) error {
	parent := parentOf(d.cfg.Processor, msg) //nolint:contextcheck // the message has ctx now
	produced, err := h(msg)
	switch {
	case err != nil:
		return err
	case len(produced) == 0:
		return nil
	case d.cfg.Publisher == nil:
		return fmt.Errorf("%w: set DedupeConfig.Publisher", ErrNoDestination)
	}
	topic := message.PublishTopicFromCtx(ctx)
	if topic == "" {
		return errNoTopic
	}
	if err := d.cfg.Publisher.Publish(topic, parent.passOn(produced)...); err != nil {
		return fmt.Errorf("leat: publish the handler's messages: %w", err)
	}
	return nil
}
