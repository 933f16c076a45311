// Package wmenvelope reads the envelope in which the publisher of Watermill's
// components/forwarder stores a message.
package wmenvelope

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

var errNoTopic = errors.New("leat: the envelope has no destination topic")

// envelope is the form in which components/forwarder's publisher stores a message.
type envelope struct {
	DestinationTopic string            `json:"destination_topic"`
	UUID             string            `json:"uuid"`
	Payload          []byte            `json:"payload"`
	Metadata         map[string]string `json:"metadata"`
}

// Unwrap returns the message in the payload of a row, if it could also be set aside. A message
// without an id gets that of its row. If key is nil, the key is the metadata outbox.HeaderKey.
func Unwrap(payload []byte, rowID string, key outbox.KeyFunc) (outbox.Message, error) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return outbox.Message{}, fmt.Errorf("leat: the row is not an envelope: %w", err)
	}
	if e.DestinationTopic == "" {
		return outbox.Message{}, errNoTopic
	}
	if _, ok := e.Metadata[outbox.HeaderWatermillUUID]; ok {
		// Watermill's marshaler refuses it: the message would have two ids.
		return outbox.Message{}, fmt.Errorf("leat: metadata %s is reserved for the message's UUID", outbox.HeaderWatermillUUID)
	}
	msg := outbox.Message{ID: e.UUID, Topic: e.DestinationTopic, Payload: e.Payload, Headers: e.Metadata}
	if msg.ID == "" {
		msg.ID = rowID // without an id a repeat cannot be recognised
	}
	var err error
	if msg.Key, err = e.key(key); err != nil {
		return outbox.Message{}, fmt.Errorf("leat: key of message %.200q: %w", e.UUID, err)
	}
	return msg, outOfBounds(&msg)
}

// key returns the key of the message in e.
func (e *envelope) key(key outbox.KeyFunc) (string, error) {
	if key == nil {
		return e.Metadata[outbox.HeaderKey], nil
	}
	wm := message.NewMessage(e.UUID, e.Payload)
	if e.Metadata != nil {
		wm.Metadata = e.Metadata
	}
	return key(e.DestinationTopic, wm)
}
