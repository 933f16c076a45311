package amqpsink

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
)

var (
	errTooLarge   = errors.New("leat: record is too large")
	errRoutingKey = errors.New("leat: routing key has more than 255 bytes")
	errHeaderName = errors.New("leat: name of a header has more than 255 bytes")
	errRouting    = errors.New("leat: RabbitMQ routes by the header and takes no text for it")
)

// headerContentType is the message's own header that is also sent as its content type.
const headerContentType = "content-type"

// frameOverhead is the most that a frame of properties takes in addition to its texts.
const frameOverhead = 64

// message returns r in the form in which it is published, or why it cannot be.
func (s *Sink) message(r *outbox.Record, frame int) (amqp.Publishing, error) {
	if limit := s.learned.maxBody(s.cfg.MaxMessageBytes); len(r.Payload) > limit {
		return amqp.Publishing{}, fmt.Errorf("%w: the payload of %.100q has %d bytes, the broker takes %d", errTooLarge, r.ID, len(r.Payload), limit)
	}
	headers := make(amqp.Table, len(r.Headers)+5)
	size := frameOverhead
	for name, value := range r.Headers {
		if len(name) > maxShort {
			return amqp.Publishing{}, fmt.Errorf("%w: %.100q of %.100q", errHeaderName, name, r.ID)
		}
		if name == "CC" || name == "BCC" { // other spellings do not count
			return amqp.Publishing{}, fmt.Errorf("%w: %q of %.100q", errRouting, name, r.ID)
		}
		headers[name] = value
		size += headerBytes(name, value)
	}
	for _, h := range [...]struct{ name, value string }{
		{outbox.HeaderEventID, r.ID},
		{outbox.HeaderEventTime, outbox.FormatEventTime(r.EventTime())},
		{outbox.HeaderEventType, r.Type},
		{outbox.HeaderKey, r.Key},
		{outbox.HeaderWatermillUUID, r.ID},
	} {
		if h.value != "" {
			headers[h.name] = h.value
			size += headerBytes(h.name, h.value)
		}
	}
	p := amqp.Publishing{
		Headers: headers, DeliveryMode: amqp.Persistent, MessageId: short(r.ID), Type: short(r.Type),
		ContentType: s.cfg.ContentType, Body: r.Payload,
	}
	if own := short(r.Headers[headerContentType]); own != "" {
		p.ContentType = own
	}
	if t := r.EventTime(); t.Unix() >= 0 {
		p.Timestamp = t
	}
	if size += len(p.MessageId) + len(p.Type) + len(p.ContentType); frame > 0 && size > frame {
		return p, fmt.Errorf("%w: headers of %.100q have %d bytes, a frame of the connection has %d", errTooLarge, r.ID, size, frame)
	}
	return p, nil
}

// headerBytes is the size of a header in a frame.
func headerBytes(name, value string) int { return 1 + len(name) + 1 + 4 + len(value) }

// short returns text if it fits into a property, or "".
func short(text string) string {
	if len(text) > maxShort {
		return ""
	}
	return text
}
