package middleware

import (
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// headerHeaders is the header in which the connector of docs/debezium.md sends the headers of a
// message, as one JSON object.
const headerHeaders = "leat_headers"

// Debezium calls SpreadDebezium with each message. Add it outside of the inbox. Messages of
// leat's own relay pass unchanged, so that it may stay during and after a migration.
func Debezium(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		if err := SpreadDebezium(msg); err != nil {
			return nil, err
		}
		return h(msg)
	}
}

// SpreadDebezium gives a message that Debezium has sent the metadata that leat's relay would have
// given it. It replaces the header "leat_headers" by the headers in it, removes
// outbox.HeaderEventType and outbox.HeaderEventTime if they are empty, since Debezium sends NULL
// as an empty text, and sets an empty UUID to outbox.HeaderEventID or the router's own header
// "id". It changes nothing else, and nothing if it is called again. A producer's own header
// "leat_headers" is lost. If that header is not a JSON object of texts, it returns an error and
// leaves the message unchanged.
func SpreadDebezium(msg *message.Message) error {
	headers, err := debeziumHeaders(msg)
	if err != nil {
		return err
	}
	for name, value := range headers {
		if !outbox.ReservedHeader(name) {
			msg.Metadata.Set(name, value)
		}
	}
	delete(msg.Metadata, headerHeaders)
	for _, name := range []string{outbox.HeaderEventType, outbox.HeaderEventTime} {
		if msg.Metadata.Get(name) == "" {
			delete(msg.Metadata, name)
		}
	}
	if msg.UUID == "" {
		msg.UUID, err = inbox.IDFromHeader(outbox.HeaderEventID, "id").Find(msg)
	}
	return err
}

// debeziumHeaders returns the headers in headerHeaders. A null header is "".
func debeziumHeaders(msg *message.Message) (map[string]string, error) {
	text := msg.Metadata.Get(headerHeaders)
	if text == "" {
		return nil, nil
	}
	var headers map[string]string
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf("leat: header %s is not a JSON object of texts: %.100q: %w", headerHeaders, text, err)
	}
	return headers, nil
}
