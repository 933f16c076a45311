package content

import "encoding/json"

// Codec turns the values of one event type into bytes and back. It is safe for concurrent
// use.
type Codec interface {
	// Encode returns the bytes of v. Encode is called in the business transaction: its error
	// fails the transaction.
	Encode(v any) ([]byte, error)

	// Decode stores in v, a pointer, what payload says. An error that the same bytes cause
	// each time is marked by inbox.Permanent, and the failure of something that every message
	// needs by inbox.Outage.
	Decode(payload []byte, v any) error

	// ContentType returns the media type of the bytes, such as application/json.
	ContentType() string
}

// JSON returns the Codec of encoding/json.
func JSON() Codec { return jsonCodec{} }

type jsonCodec struct{}

func (jsonCodec) ContentType() string { return "application/json" }

func (jsonCodec) Encode(v any) ([]byte, error) { return json.Marshal(v) }

func (jsonCodec) Decode(payload []byte, v any) error { return json.Unmarshal(payload, v) }
