package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
)

// Show returns a payload as JSON, for operators and for the decoder of a dashboard. Avro and JSON
// Schema need only the registry, Protobuf also the codec of the message. Topic and headers are
// ignored.
func (r *Registry) Show(_ string, _ map[string]string, payload []byte) ([]byte, error) {
	id, data, err := cutFrame(payload)
	if err != nil {
		return nil, err
	}
	text, err := r.show(id, data)
	if err != nil {
		return nil, fmt.Errorf("leat: registry: payload of schema %d: %w", id, err)
	}
	return text, nil
}

func (r *Registry) show(id int, data []byte) ([]byte, error) {
	w, err := r.byID(id)
	if err != nil {
		return nil, err
	}
	switch w.Type {
	case sr.TypeAvro:
		return showAvro(w, data)
	case sr.TypeProtobuf:
		return r.showProto(id, w, data)
	default:
		if !json.Valid(data) {
			return nil, errors.New("it is not JSON")
		}
		return data, nil
	}
}

func showAvro(w *written, data []byte) ([]byte, error) {
	schema, err := w.avro()
	if err != nil {
		return nil, err
	}
	var v any
	if err := decodeAvro(schema, data, &v); err != nil {
		return nil, err
	}
	return schema.EncodeJSON(v, avro.TaggedUnions())
}

// showProto looks for the codec of the message, in this version or another.
func (r *Registry) showProto(id int, w *written, data []byte) ([]byte, error) {
	index, _, err := cutIndex(data)
	if err != nil {
		return nil, err
	}
	top, err := topMessage(w.Schema.Schema, index[0])
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	protos := r.protos
	r.mu.Unlock()
	i := slices.IndexFunc(protos, func(c *protoCodec) bool { return c.top() == top && slices.Equal(c.index, index) })
	if i < 0 {
		return nil, fmt.Errorf("there is no codec for message %v of the file of %s", index, top)
	}
	c := protos[i]
	m := c.message.New().Interface()
	if err := c.decode(id, data, m); err != nil {
		return nil, err
	}
	return protojson.Marshal(m)
}
