package registry

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// Proto returns the codec of messages of m's type. It registers the text of the .proto file from
// which m was generated, and those of its imports, each under its path. They are read from files,
// such as an embed.FS, by the paths that protoc was given. Files of google/protobuf are known to
// registries.
//
// A payload names its message by the position in its file, which must be the same in all
// versions: add messages at the end of the file.
func Proto(r *Registry, m proto.Message, files fs.FS, o Options) (content.Codec, error) {
	if m == nil {
		return nil, outbox.ConfigError("message", nil, "is required")
	}
	d := m.ProtoReflect().Descriptor()
	c := &protoCodec{message: m.ProtoReflect().Type(), index: indexOf(d)}
	s, err := r.protoFile(d.ParentFile(), files)
	if err != nil {
		return nil, fmt.Errorf("leat: registry: message %s: %w", d.FullName(), err)
	}
	if top, err := topMessage(s.schema.Schema, c.index[0]); err != nil || top != c.top() {
		return nil, fmt.Errorf("leat: registry: message %s: %s is another version than the compiled one: it has %q in its place", d.FullName(), d.ParentFile().Path(), top)
	}
	c.s = s
	if err := r.add(s, string(d.FullName()), o); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.protos = append(r.protos, c)
	return c, nil
}

// protoFile returns the subject of a file, with those of its imports.
func (r *Registry) protoFile(file protoreflect.FileDescriptor, files fs.FS) (*subject, error) {
	text, err := fs.ReadFile(files, file.Path())
	if err != nil {
		return nil, fmt.Errorf("the text of its file: %w", err)
	}
	s := &subject{r: r, name: file.Path(), schema: sr.Schema{Schema: string(text), Type: sr.TypeProtobuf}}
	for i := range file.Imports().Len() {
		imported := file.Imports().Get(i)
		if strings.HasPrefix(imported.Path(), "google/protobuf/") {
			continue
		}
		child, err := r.protoFile(imported, files)
		if err != nil {
			return nil, err
		}
		s.imports = append(s.imports, child)
	}
	return s, nil
}

// indexOf returns the path of a message in its file.
func indexOf(d protoreflect.Descriptor) []int {
	if _, ok := d.(protoreflect.FileDescriptor); ok {
		return nil
	}
	return append(indexOf(d.Parent()), d.Index())
}

type protoCodec struct {
	s       *subject
	message protoreflect.MessageType
	index   []int
}

// top returns the name of the top-level message of the file that is the codec's message, or
// contains it.
func (c *protoCodec) top() protoreflect.FullName {
	d := protoreflect.Descriptor(c.message.Descriptor())
	for range c.index[1:] {
		d = d.Parent()
	}
	return d.FullName()
}

// ContentType implements content.Codec.
func (*protoCodec) ContentType() string { return "application/vnd.confluent.protobuf" }

func (c *protoCodec) cast(v any) (proto.Message, error) {
	m, ok := v.(proto.Message)
	if name := c.message.Descriptor().FullName(); !ok || m.ProtoReflect().Descriptor().FullName() != name {
		return nil, c.s.wrap(fmt.Errorf("a %T is not a message %s", v, name))
	}
	if !m.ProtoReflect().IsValid() {
		return nil, c.s.wrap(errors.New("the message is nil"))
	}
	return m, nil
}

// Encode implements content.Codec.
func (c *protoCodec) Encode(v any) ([]byte, error) {
	m, err := c.cast(v)
	if err != nil {
		return nil, err
	}
	b, err := c.s.frame()
	if err != nil {
		return nil, err
	}
	if b, err = (proto.MarshalOptions{}).MarshalAppend(appendIndex(b, c.index), m); err != nil {
		return nil, c.s.wrap(err)
	}
	return b, nil
}

// Decode implements content.Codec.
func (c *protoCodec) Decode(payload []byte, v any) error {
	m, err := c.cast(v)
	if err != nil {
		return err
	}
	id, data, err := cutFrame(payload)
	if err != nil {
		return c.s.wrap(err)
	}
	if err := c.decode(id, data, m); err != nil {
		return c.s.wrap(fmt.Errorf("payload of schema %d: %w", id, err))
	}
	return nil
}

// decode refuses messages of other types, which would decode without an error.
func (c *protoCodec) decode(id int, data []byte, m proto.Message) error {
	index, data, err := cutIndex(data)
	if err != nil {
		return err
	}
	if !slices.Equal(index, c.index) {
		return inbox.Permanent(fmt.Errorf("message %v of its file, not %v, is another type", index, c.index))
	}
	if !c.s.isOwn(id) {
		w, err := c.s.r.byID(id)
		if err != nil {
			return err
		}
		if w.Type != sr.TypeProtobuf {
			return inbox.Permanent(fmt.Errorf("the schema is %v, not Protobuf", w.Type))
		}
		if top, err := topMessage(w.Schema.Schema, index[0]); err != nil || top != c.top() {
			return inbox.Permanent(fmt.Errorf("message %q is another type", top))
		}
	}
	return inbox.Permanent(proto.Unmarshal(data, m))
}

// protoToken matches the tokens of a .proto file: those to skip (comments and strings) and the
// others.
var protoToken = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.]+|[{};]`)

// topMessage returns the full name of a top-level message, by its position in the text of a
// .proto file, or in a descriptor in base64, which some clients register.
func topMessage(text string, index int) (protoreflect.FullName, error) {
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		var file descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(raw, &file); err != nil || index >= len(file.GetMessageType()) {
			return "", errors.Join(err, errIndex)
		}
		return fullName(file.GetPackage(), file.GetMessageType()[index].GetName()), nil
	}
	pkg, depth, words := "", 0, []string(nil)
	for _, token := range protoToken.FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(token, "//"), strings.HasPrefix(token, "/*"):
			continue
		case token == "}":
			depth--
		case token != "{" && token != ";":
			words = append(words, token)
			continue
		case depth == 0 && len(words) == 2 && words[0] == "package":
			pkg = words[1]
		case depth == 0 && len(words) == 2 && words[0] == "message" && token == "{":
			if index == 0 {
				return fullName(pkg, words[1]), nil
			}
			index--
		}
		if token == "{" {
			depth++
		}
		words = nil
	}
	return "", errIndex
}

func fullName(pkg, name string) protoreflect.FullName {
	return protoreflect.FullName(strings.TrimPrefix(pkg+"."+name, "."))
}
