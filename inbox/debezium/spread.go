package debezium

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

const (
	// HeaderID is the header in which the outbox event router sends the id of the row.
	HeaderID = "id"
	// HeaderHeaders is the header in which the connector of docs/debezium.md sends the headers
	// of a message, as one JSON object.
	HeaderHeaders = "leat_headers"
)

// ErrHeaders is wrapped by the errors of Spread and of Middleware. Such a message can never
// be read.
var ErrHeaders = errors.New("leat: header " + HeaderHeaders + " is no JSON object of texts")

// ID returns an IDSource for messages of any outbox that Debezium relays, with its default
// header HeaderID, and for those of leat's own table: outbox.HeaderEventID first. It ignores
// the UUID of the message, which some subscribers make up for each delivery.
func ID() inbox.IDSource {
	return inbox.IDFromHeader(outbox.HeaderEventID, HeaderID)
}

// Middleware spreads the headers of each message, see Spread. It stands outside of the
// inbox. What leat's own relay sends passes unchanged, so that it may stay until a
// migration is over and after it.
func Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		if err := Spread(msg); err != nil {
			return nil, err
		}
		return h(msg)
	}
}

// Spread gives a message that Debezium has sent the metadata that leat's relay would have
// given it. It replaces HeaderHeaders by the headers in it, removes outbox.HeaderEventType and
// outbox.HeaderEventTime if they are empty, as Debezium sends what is NULL, and sets an empty
// UUID to what ID finds. It changes nothing else, and nothing if it is called again. A header
// of the producer's that is called HeaderHeaders itself is lost. The error wraps ErrHeaders,
// and the message is unchanged then.
func Spread(msg *message.Message) error {
	headers, err := headersOf(msg)
	if err != nil {
		return err
	}
	for name, value := range headers {
		if !outbox.ReservedHeader(name) {
			msg.Metadata.Set(name, value)
		}
	}
	delete(msg.Metadata, HeaderHeaders)
	for _, name := range []string{outbox.HeaderEventType, outbox.HeaderEventTime} {
		if msg.Metadata.Get(name) == "" {
			delete(msg.Metadata, name)
		}
	}
	if msg.UUID == "" {
		msg.UUID, err = ID()(msg)
	}
	return err
}

// headersOf returns what is in HeaderHeaders. A null header is "".
func headersOf(msg *message.Message) (map[string]string, error) {
	text := msg.Metadata.Get(HeaderHeaders)
	if text == "" {
		return nil, nil
	}
	var headers map[string]string
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf("%w: %.100q: %w", ErrHeaders, text, err)
	}
	return headers, nil
}
