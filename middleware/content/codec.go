package content

import (
	"encoding/json"

	"github.com/leat-go/leat/inbox"
)

// Codec turns the values of one event type into bytes and back. It is safe for concurrent
// use.
type Codec interface {
	// Encode returns the bytes of the value that v points to. It is called in the business
	// transaction, which fails if Encode returns an error.
	Encode(v any) ([]byte, error)

	// Decode decodes payload into v, a pointer to a zero value. The error is marked by
	// inbox.Permanent if these bytes can never be read, and by inbox.Outage if something that
	// every message needs does not answer.
	Decode(payload []byte, v any) error

	// ContentType returns the media type of the bytes, such as application/json.
	ContentType() string
}

// JSON returns the Codec of encoding/json.
func JSON() Codec { return jsonCodec{} }

type jsonCodec struct{}

// ContentType implements Codec.
func (jsonCodec) ContentType() string { return "application/json" }

// Encode implements Codec.
func (jsonCodec) Encode(v any) ([]byte, error) { return json.Marshal(v) }

// Decode implements Codec.
func (jsonCodec) Decode(payload []byte, v any) error {
	return inbox.Permanent(json.Unmarshal(payload, v))
}
