package payload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var (
	errForm     = errors.New("must be TOPICS=MESSAGE, such as orders.*=shop.v1.Order")
	errNoFile   = errors.New("needs a file of descriptors")
	errNoTopics = errors.New("is for topics whose payloads are in Protobuf: name them")
	errUnknown  = errors.New("the descriptors have no such message")
)

// frameBytes is the length of a schema registry's prefix: a zero byte, with which Protobuf never begins,
// and the id of the schema.
const frameBytes = 5

// decoder decodes the payloads of some topics, which are Protobuf messages.
type decoder struct {
	topics  string
	message protoreflect.MessageDescriptor
	index   []int64 // where the message is in its file
	types   *dynamicpb.Types
}

// decoders returns a decoder for each of messages. They have the form TOPICS=MESSAGE: a pattern of topics,
// and the full name of a message in the descriptor set of file. If both arguments are empty, it returns
// none. Errors are *ConfigError.
func decoders(file string, messages []string) ([]decoder, error) {
	for i, text := range messages {
		if topics, name, ok := cutLast(text); !ok || topics == "" || !protoreflect.FullName(name).IsValid() {
			return nil, &ConfigError{"protobuf", i, text, errForm}
		}
	}
	switch {
	case file == "" && len(messages) == 0:
		return nil, nil
	case file == "":
		return nil, &ConfigError{"protobuf", 0, messages[0], errNoFile}
	}
	known, err := read(file)
	if err != nil {
		return nil, &ConfigError{"descriptors", 0, file, err}
	}
	if len(messages) == 0 {
		return nil, &ConfigError{"descriptors", 0, file, errNoTopics}
	}
	all := make([]decoder, 0, len(messages))
	for i, text := range messages {
		topics, name, _ := cutLast(text)
		found, err := known.FindDescriptorByName(protoreflect.FullName(name))
		message, ok := found.(protoreflect.MessageDescriptor)
		if err != nil || !ok {
			return nil, &ConfigError{"protobuf", i, text, errUnknown}
		}
		all = append(all, decoder{
			topics: topics, message: message, index: indexOf(message),
			types: dynamicpb.NewTypes(known), // for extensions and google.protobuf.Any
		})
	}
	return all, nil
}

// cutLast cuts a text at its last =, since message names have none.
func cutLast(text string) (before, after string, found bool) {
	at := strings.LastIndex(text, "=")
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// read reads a descriptor set, which must be complete.
func read(file string) (*protoregistry.Files, error) {
	body, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("is not a descriptor set: %w", err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("is not complete, protoc needs --include_imports: %w", err)
	}
	return files, nil
}

// indexOf returns the path of a message in its file.
func indexOf(d protoreflect.Descriptor) []int64 {
	if _, ok := d.(protoreflect.FileDescriptor); ok {
		return nil
	}
	return append(indexOf(d.Parent()), int64(d.Index()))
}

// decode returns a payload as JSON, with member names as in the .proto file.
func (d decoder) decode(payload []byte, framed bool) ([]byte, error) {
	if framed {
		index, rest := cutIndex(payload[frameBytes:])
		if !slices.Equal(index, d.index) {
			return nil, fmt.Errorf("is not a %s: it is message %v of its file, not %v", d.message.FullName(), index, d.index)
		}
		payload = rest
	}
	m := dynamicpb.NewMessage(d.message)
	if err := (proto.UnmarshalOptions{Resolver: d.types}).Unmarshal(payload, m); err != nil {
		return nil, fmt.Errorf("is not a %s: %w", d.message.FullName(), err)
	}
	return protojson.MarshalOptions{UseProtoNames: true, Resolver: d.types}.Marshal(m)
}

// cutIndex returns the path that follows a frame, nil if there is none, and the rest.
func cutIndex(b []byte) (index []int64, rest []byte) {
	count, n := binary.Varint(b)
	if b = b[max(n, 0):]; n > 0 && count == 0 {
		return []int64{0}, b // the short form of it
	}
	for range count {
		i, n := binary.Varint(b)
		if n <= 0 {
			return nil, nil
		}
		index, b = append(index, i), b[n:]
	}
	return index, b
}
