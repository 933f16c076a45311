// Package protobuf makes payloads in Protobuf readable, by a descriptor set: what protoc knows of
// messages, in a file.
package protobuf

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/leat-go/leat/middleware/dashboard"
)

// ConfigError is a setting that is wrong, by its name.
type ConfigError struct {
	// Setting is descriptors or protobuf; Index which of its values, from 0 on.
	Setting string
	Index   int
	Value   string
	Err     error
}

// Error names setting and value.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s = %.200q: %v", e.Setting, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

var (
	errForm     = errors.New("must be TOPICS=MESSAGE, such as orders.*=shop.v1.Order")
	errNoFile   = errors.New("needs a file of descriptors")
	errNoTopics = errors.New("is for topics whose payloads are in Protobuf: name them")
	errUnknown  = errors.New("the descriptors have no such message")
)

// Decoders returns a decoder for each of messages, which are TOPICS=MESSAGE: a pattern of topics,
// and the full name of a message in the descriptor set that file is. With neither it returns
// none. Errors are *ConfigError.
func Decoders(file string, messages []string) ([]dashboard.Decoder, error) {
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
	all := make([]dashboard.Decoder, 0, len(messages))
	for i, text := range messages {
		topics, name, _ := cutLast(text)
		found, err := known.FindDescriptorByName(protoreflect.FullName(name))
		message, ok := found.(protoreflect.MessageDescriptor)
		if err != nil || !ok {
			return nil, &ConfigError{"protobuf", i, text, errUnknown}
		}
		all = append(all, decoder(topics, message, known))
	}
	return all, nil
}

// cutLast cuts a text at its last =, since names of messages have none.
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
		return nil, fmt.Errorf("is no descriptor set: %w", err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("is not complete, protoc needs --include_imports: %w", err)
	}
	return files, nil
}

// decoder returns a decoder that names members as the .proto file does.
func decoder(topics string, message protoreflect.MessageDescriptor, known *protoregistry.Files) dashboard.Decoder {
	types := dynamicpb.NewTypes(known) // for extensions and google.protobuf.Any
	in := proto.UnmarshalOptions{Resolver: types}
	out := protojson.MarshalOptions{UseProtoNames: true, Resolver: types}
	return dashboard.Decoder{Topics: topics, Decode: func(_ string, _ map[string]string, payload []byte) ([]byte, error) {
		m := dynamicpb.NewMessage(message)
		if err := in.Unmarshal(payload, m); err != nil {
			return nil, fmt.Errorf("is no %s: %w", message.FullName(), err)
		}
		return out.Marshal(m)
	}}
}
