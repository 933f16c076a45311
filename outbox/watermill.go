package outbox

import (
	"fmt"
	"maps"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// KeyFunc returns the ordering key of a Watermill message that is about to be
// enqueued for topic. An empty key means unordered.
type KeyFunc func(topic string, msg *message.Message) (string, error)

// KeyFromMetadata is the default KeyFunc: metadata HeaderKey.
func KeyFromMetadata(_ string, msg *message.Message) (string, error) {
	return msg.Metadata.Get(HeaderKey), nil
}

// FromWatermill returns msg as a Message for topic. Its id is the Watermill UUID; its type is
// metadata HeaderEventType; metadata HeaderNotBefore, in RFC 3339, delays it; all other metadata
// becomes headers, except the names that leat sets itself: metadata copied from a consumed
// message carries them, and there they describe the consumed message. A nil key is
// KeyFromMetadata. A nil msg, and a HeaderNotBefore that is not a time, is an ErrInvalidMessage.
func FromWatermill(topic string, msg *message.Message, key KeyFunc) (Message, error) {
	if msg == nil {
		return Message{}, fmt.Errorf("%w: the Watermill message is nil", ErrInvalidMessage)
	}
	if key == nil {
		key = KeyFromMetadata
	}
	k, err := key(topic, msg)
	if err != nil {
		return Message{}, fmt.Errorf("leat: key of message %.200q: %w", msg.UUID, err)
	}
	m := Message{ID: msg.UUID, Topic: topic, Key: k, Payload: msg.Payload}
	for name, value := range msg.Metadata {
		if ReservedHeader(name) {
			continue
		}
		if m.Headers == nil {
			m.Headers = make(map[string]string, len(msg.Metadata))
		}
		m.Headers[name] = value
	}
	m.Type = msg.Metadata.Get(HeaderEventType)
	if text := msg.Metadata.Get(HeaderNotBefore); text != "" {
		if m.NotBefore, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return Message{}, fmt.Errorf("%w: metadata %s of message %.200q: %w", ErrInvalidMessage, HeaderNotBefore, msg.UUID, err)
		}
	}
	return m, nil
}

// ToWatermill returns r as a Watermill message: the id as its UUID, and as
// metadata the headers, HeaderEventID, HeaderEventTime, and if they are set
// HeaderEventType and HeaderKey. The message shares r's payload.
func ToWatermill(r *Record) *message.Message {
	msg := message.NewMessage(r.ID, r.Payload)
	maps.Copy(msg.Metadata, r.Headers)
	msg.Metadata[HeaderEventID] = r.ID
	msg.Metadata[HeaderEventTime] = FormatEventTime(r.EventTime())
	if r.Type != "" {
		msg.Metadata[HeaderEventType] = r.Type
	}
	if r.Key != "" {
		msg.Metadata[HeaderKey] = r.Key
	}
	return msg
}
