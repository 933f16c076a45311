package registry_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
)

const orderSchema = `{"type":"record","name":"OrderPlaced","namespace":"shop","fields":[{"name":"id","type":"string"},{"name":"total","type":"long"}]}`

type orderPlaced struct {
	ID    string `avro:"id" json:"id"`
	Total int64  `avro:"total" json:"total"`
}

// must returns v, what a test configures well.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fake is a registry in memory that counts what it is asked, and fails as a test wants.
type fake struct {
	*srfake.Registry
	asked atomic.Int64
	fail  atomic.Pointer[http.HandlerFunc]
}

func newFake(tb testing.TB) *fake {
	tb.Helper()
	f := &fake{Registry: srfake.New()}
	tb.Cleanup(f.Close)
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		f.asked.Add(1)
		if h := f.fail.Load(); h != nil {
			(*h)(w, r)
			return true
		}
		return false
	})
	return f
}

// answer has all requests answered in this way.
func (f *fake) answer(status int, body string) {
	f.failWith(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func (f *fake) failWith(h http.HandlerFunc) { f.fail.Store(&h) }

func (f *fake) recover() { f.fail.Store(nil) }

// open returns a Registry of a new process.
func (f *fake) open(tb testing.TB, cfg registry.Config) *registry.Registry {
	tb.Helper()
	return open(tb, f.URL(), cfg)
}

func open(tb testing.TB, url string, cfg registry.Config) *registry.Registry {
	tb.Helper()
	cfg.Client = newClient(tb, url)
	return must(registry.New(cfg))
}

func newClient(tb testing.TB, url string) *sr.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return must(sr.NewClient(sr.URLs(url), sr.HTTPClient(&http.Client{Transport: transport})))
}

func orders(r *registry.Registry) content.Codec {
	return must(registry.Avro[orderPlaced](r, orderSchema, registry.Options{}))
}

// shopFiles are what a service embeds.
func shopFiles(namespace string) fstest.MapFS {
	fill := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "shop", namespace))}
	}
	return fstest.MapFS{
		namespace + "/order.proto": fill(`// The events of a shop; message Trap {}
syntax = "proto3";
package shop;
import "shop/money.proto";
import "google/protobuf/timestamp.proto";
option java_package = "message Trap {";
message OrderPlaced { string id = 1; Money total = 2; google.protobuf.Timestamp at = 3; }
/* message Trap {} */
message OrderShipped {
  message Parcel { string code = 1; }
  string id = 1;
}
`),
		namespace + "/money.proto": fill(`syntax = "proto3";
package shop;
message Money { int64 cents = 1; }
`),
	}
}

// shopMessage makes a message as protoc compiles shopFiles.
func shopMessage(namespace, name string) proto.Message {
	files := &protoregistry.Files{}
	add := func(f protoreflect.FileDescriptor) { must(0, files.RegisterFile(f)) }
	add(timestamppb.File_google_protobuf_timestamp_proto)
	for _, text := range []string{
		`name:"shop/money.proto" package:"shop" syntax:"proto3"
		message_type{name:"Money" field{name:"cents" number:1 type:TYPE_INT64 label:LABEL_OPTIONAL}}`,
		`name:"shop/order.proto" package:"shop" syntax:"proto3" dependency:"shop/money.proto" dependency:"google/protobuf/timestamp.proto"
		message_type{name:"OrderPlaced" field{name:"id" number:1 type:TYPE_STRING label:LABEL_OPTIONAL}
			field{name:"total" number:2 type:TYPE_MESSAGE type_name:".shop.Money" label:LABEL_OPTIONAL}
			field{name:"at" number:3 type:TYPE_MESSAGE type_name:".google.protobuf.Timestamp" label:LABEL_OPTIONAL}}
		message_type{name:"OrderShipped" field{name:"id" number:1 type:TYPE_STRING label:LABEL_OPTIONAL}
			nested_type{name:"Parcel" field{name:"code" number:1 type:TYPE_STRING label:LABEL_OPTIONAL}}}`,
	} {
		var file descriptorpb.FileDescriptorProto
		must(0, prototext.Unmarshal([]byte(strings.ReplaceAll(text, "shop", namespace)), &file))
		add(must(protodesc.NewFile(&file, files)))
	}
	d := must(files.FindDescriptorByName(protoreflect.FullName(namespace + "." + name)))
	return dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
}

func fill(m proto.Message, text string) proto.Message {
	must(0, prototext.Unmarshal([]byte(text), m))
	return m
}

func requireProto(tb testing.TB, want, got proto.Message) {
	tb.Helper()
	require.Equal(tb, must(proto.MarshalOptions{Deterministic: true}.Marshal(want)), must(proto.MarshalOptions{Deterministic: true}.Marshal(got)), "want %v, got %v", want, got)
}
