package middleware

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// DedupePublisherConfig tunes NewDedupePublisher. Processor is required.
type DedupePublisherConfig struct {
	// Processor remembers the published messages. Its consumer's name stands for the producer,
	// and a handler must not use it: that returns inbox.ErrTwoHandlers. Required.
	Processor *dedupe.Processor

	// IDFrom finds the id of a message. Copies of a message must have the same id. Defaults to
	// the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource
}

// NewDedupePublisher returns a decorator that suppresses repeated publishes of the same message
// to the same topic. A handler that runs again makes such repeats, if it gives its messages
// stable ids, for example by inbox.ChildID.
//
//	once, err := middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: p})
//	router.AddPublisherDecorators(once)
//
// It publishes at least once. A repeat is suppressed while the store keeps the record that the
// publisher has acknowledged the message; a process that dies between the acknowledgement and the
// record publishes again, so consumers still need an inbox. It saves traffic; it gives consumers
// no guarantee. Messages that must be published exactly if a transaction commits belong in an
// outbox.
//
// The publisher that the decorator returns is as safe for concurrent use as the one that it was
// given, which must not be nil. Publish claims all messages of the call, publishes the new ones
// in one call and in their order, and records them: two round trips to the store per message. If
// that call fails, all messages count as not published. Errors are those of the publisher and of
// dedupe.Processor, such as dedupe.ErrBusy while another process publishes the same message; then
// no message of the call is acknowledged.
//
// Errors of the constructor and of the decorator wrap outbox.ErrInvalidConfig.
func NewDedupePublisher(cfg DedupePublisherConfig) (message.PublisherDecorator, error) {
	if cfg.Processor == nil {
		return nil, outbox.ConfigError("DedupePublisherConfig.Processor", nil, "is required")
	}
	if cfg.IDFrom.Find == nil && cfg.IDFrom.Name == "" {
		cfg.IDFrom = inbox.DefaultIDSource()
	}
	if err := cfg.IDFrom.Check(); err != nil {
		return nil, err
	}
	return func(pub message.Publisher) (message.Publisher, error) {
		if pub == nil {
			return nil, outbox.ConfigError("publisher", nil, "must not be nil")
		}
		return &dedupePublisher{Publisher: pub, cfg: cfg}, nil
	}, nil
}

type dedupePublisher struct {
	message.Publisher

	cfg DedupePublisherConfig
}

// outgoing is a message with the key under which it is remembered.
type outgoing struct {
	key string
	msg *message.Message
}

// Publish implements message.Publisher.
func (p *dedupePublisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.cfg.Processor.OneHandler("DedupePublisher"); err != nil { // its keys must not be ids of messages
		return err
	}
	if len(messages) == 0 {
		return nil
	}
	if err := p.cfg.Processor.NameIDs(messages[0].Context(), p.cfg.IDFrom.Name); err != nil {
		return err
	}
	batch := make([]outgoing, 0, len(messages))
	seen := make(map[string]bool, len(messages))
	for _, msg := range messages {
		id, err := p.cfg.IDFrom.Find(msg)
		if err != nil {
			return err
		}
		if id == "" {
			return dedupe.ErrNoID
		}
		key := strconv.Itoa(len(topic)) + ":" + topic + ":" + id
		if !seen[key] {
			batch, seen[key] = append(batch, outgoing{key, msg}), true
		}
	}
	return p.publish(topic, batch, nil)
}

// publish claims the first message of batch, and within its run the others. Innermost, with all
// claims held, it publishes fresh; on the way out each message is completed.
func (p *dedupePublisher) publish(topic string, batch []outgoing, fresh []*message.Message) error {
	if len(batch) == 0 {
		if len(fresh) == 0 {
			return nil
		}
		return p.Publisher.Publish(topic, fresh...)
	}
	ran := false
	first, rest := batch[0], batch[1:]
	_, err := p.cfg.Processor.Do(first.msg.Context(), dedupe.Message{ID: first.key}, func(context.Context) ([]byte, error) {
		ran = true
		return nil, p.publish(topic, rest, append(fresh, first.msg)) //nolint:contextcheck // each message has its own
	})
	if err == nil && !ran { // published before
		return p.publish(topic, rest, fresh)
	}
	return err
}
