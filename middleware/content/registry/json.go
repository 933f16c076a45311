package registry

import (
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// JSON returns the codec of encoding/json for values that schema, a JSON Schema, allows. Before
// the commit and before the handler, validate is called with the JSON: it checks the same schema
// by a library of your choice, such as github.com/santhosh-tekuri/jsonschema. Payloads of other versions are
// validated by this schema, too, so that reading does not need the registry.
func JSON(r *Registry, schema string, validate func([]byte) error, o Options) (content.Codec, error) {
	var head struct{ Title string }
	if err := json.Unmarshal([]byte(schema), &head); err != nil {
		return nil, fmt.Errorf("leat: registry: JSON Schema: %w", err)
	}
	if validate == nil {
		return nil, outbox.ConfigError("validate", nil, "is required")
	}
	s := &subject{schema: sr.Schema{Schema: schema, Type: sr.TypeJSON}}
	if err := r.add(s, head.Title, o); err != nil {
		return nil, err
	}
	return &jsonCodec{s, validate}, nil
}

type jsonCodec struct {
	s        *subject
	validate func([]byte) error
}

// ContentType implements content.Codec.
func (*jsonCodec) ContentType() string { return "application/vnd.confluent.json" }

// Encode implements content.Codec.
func (c *jsonCodec) Encode(v any) ([]byte, error) {
	b, err := c.s.frame()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err == nil {
		err = c.validate(text)
	}
	if err != nil {
		return nil, c.s.wrap(err)
	}
	return append(b, text...), nil
}

// Decode implements content.Codec.
func (c *jsonCodec) Decode(payload []byte, v any) error {
	id, text, err := cutFrame(payload)
	if err != nil {
		return c.s.wrap(err)
	}
	if err = c.validate(text); err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return c.s.wrap(fmt.Errorf("payload of schema %d: %w", id, inbox.Permanent(err)))
	}
	return nil
}
