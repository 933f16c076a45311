package middleware

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
)

// DedupePublisher suppresses repeated publishes of the same message to the same
// topic, as a handler makes that runs again and gives its messages stable ids, such
// as by inbox.ChildID.
//
//	router.AddPublisherDecorators(middleware.DedupePublisher{Processor: p}.Decorate)
//
// It publishes at least once. A repeat is suppressed while the store keeps the
// record that the publisher has acknowledged the message; a process that dies
// between that and the record publishes again, so consumers need an inbox all the
// same. It saves traffic; it guarantees nothing that they could rely on. Messages
// that must be published exactly if a transaction commits belong in an outbox.
type DedupePublisher struct {
	// Processor is required. Its consumer's name stands for the producer, and no
	// handler may use it: that is dedupe.ErrTwoHandlers.
	Processor *dedupe.Processor

	// IDFrom finds the id of a message. Copies of a message must have the same.
	// Defaults to the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource
}

// Decorate wraps pub; it is a message.PublisherDecorator. The result is as safe
// for concurrent use as pub. Its error is ErrNoDeduper where there is no
// Processor.
//
// Publish claims all messages of the call, hands those that are new to pub in one
// call and in their order, and records them: two round trips of the store a
// message. Where pub fails, all of the call counts as not published. Errors are
// pub's and those of dedupe.Processor, such as dedupe.ErrBusy while another one
// publishes the same message: nothing of the call is acknowledged then.
func (d DedupePublisher) Decorate(pub message.Publisher) (message.Publisher, error) {
	if d.Processor == nil {
		return nil, ErrNoDeduper
	}
	if d.IDFrom == nil {
		d.IDFrom = inbox.DefaultIDSource()
	}
	return &dedupePublisher{Publisher: pub, cfg: d}, nil
}

type dedupePublisher struct {
	message.Publisher

	cfg DedupePublisher
}

// outgoing is a message with the key that it is remembered by.
type outgoing struct {
	key string
	msg *message.Message
}

// Publish implements message.Publisher.
func (p *dedupePublisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.cfg.Processor.OneHandler("DedupePublisher"); err != nil { // its keys must not be ids of messages
		return err
	}
	batch := make([]outgoing, 0, len(messages))
	seen := make(map[string]bool, len(messages))
	for _, msg := range messages {
		id, err := p.cfg.IDFrom(msg)
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

// publish claims the first of batch, and within its run the others. Innermost,
// with all claims held, fresh is published; on the way out each is completed.
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
