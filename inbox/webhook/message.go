package webhook

import (
	"fmt"
	"maps"
	"net/http"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

// metadataID is the metadata that holds the id with which the event arrived.
const metadataID = "webhook-id"

// message converts an event to a message.
func (h *handler) message(r *http.Request, event event, body []byte) (*message.Message, error) {
	msg := message.NewMessage(event.id, body)
	if h.cfg.LeatHeaders {
		headers, err := webhooks.Decode(r.Header)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		// The id that the message has at its sender is trusted only if it matches the signed one:
		// HTTP, or the specification, does not allow every id.
		if id := headers[outbox.HeaderEventID]; id != "" && webhooks.IDOf(id) == event.id {
			msg.UUID = id
		}
		maps.Copy(msg.Metadata, headers)
		msg.Metadata[outbox.HeaderEventID] = msg.UUID
	}
	for _, name := range h.cfg.Headers {
		if value := r.Header.Get(name); value != "" && utf8.ValidString(value) {
			msg.Metadata[name] = value
		}
	}
	if event.kind != "" {
		msg.Metadata[outbox.HeaderEventType] = event.kind
	}
	if kind := r.Header.Get("Content-Type"); kind != "" && utf8.ValidString(kind) && msg.Metadata["content-type"] == "" {
		msg.Metadata["content-type"] = kind
	}
	msg.Metadata[metadataID] = event.id
	msg.SetContext(r.Context())
	return msg, nil
}
