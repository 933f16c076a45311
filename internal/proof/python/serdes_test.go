package python_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// placed is the event that serdes.py uses.
type placed struct {
	ID    string `avro:"id" json:"id"`
	Total int64  `avro:"total" json:"total"`
}

const placedJSON = `{"id":"a","total":7}`

// leat reads what Confluent's serializers write in Python and enqueue with the SQL function, and
// Confluent's deserializers read what leat writes: Avro, JSON Schema and Protobuf, with a real registry.
// The schemas of the first two are defined separately in both programs and get the same id.
//
//leat:level 4
func TestSerdes_BothDirections(t *testing.T) {
	t.Parallel()
	python := testenv.PythonWith(t, "testdata/serdes.txt")
	env, db := testenv.Registry(t), testenv.Postgres(t)
	s := &shop{t: t, ctx: t.Context(), python: python}
	require.NoError(t, must(pgoutbox.New(db.Pool, pgoutbox.Config{})).Migrate(s.ctx))
	file := orderFile(env.Namespace)
	message := dynamicpb.NewMessageType(must(protodesc.NewFile(file, nil)).Messages().Get(0))
	run := func(stdin string, args ...string) []string {
		args = append([]string{"serdes.py", env.URL, env.Namespace, base64.StdEncoding.EncodeToString(must(proto.Marshal(file)))}, args...)
		p := s.script(strings.NewReader(stdin), args...)
		var lines []string
		for p.out.Scan() {
			lines = append(lines, p.out.Text())
		}
		require.NoError(t, s.ended(p, false))
		return lines
	}

	run("", "write", db.URL, "orders")
	codecs := serdes(t, env, message.New().Interface())
	readOrders(t, db, codecs, message)

	order := message.New().Interface()
	require.NoError(t, protojson.Unmarshal([]byte(placedJSON), order))
	var lines strings.Builder
	for format, v := range map[string]any{"avro": placed{"a", 7}, "json": placed{"a", 7}, "proto": order} {
		fmt.Fprintln(&lines, format, base64.StdEncoding.EncodeToString(must(codecs[format].Encode(v))))
	}
	shown := run(lines.String(), "read")
	require.Len(t, shown, 3)
	for _, line := range shown {
		require.JSONEq(t, placedJSON, strings.ReplaceAll(line, `"7"`, "7"))
	}
}

// readOrders decodes the events that Python has enqueued.
func readOrders(t *testing.T, db *testenv.Database, codecs map[string]content.Codec, message protoreflect.MessageType) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `SELECT type, payload FROM leat.outbox WHERE topic = 'orders'`)
	require.NoError(t, err)
	defer rows.Close()
	var read int
	for ; rows.Next(); read++ {
		var format string
		var payload []byte
		require.NoError(t, rows.Scan(&format, &payload))
		if format == "proto" {
			got := message.New().Interface()
			require.NoError(t, codecs[format].Decode(payload, got))
			require.JSONEq(t, `{"id":"a","total":"7"}`, string(must(protojson.Marshal(got))))
			continue
		}
		var got placed
		require.NoError(t, codecs[format].Decode(payload, &got))
		require.Equal(t, placed{"a", 7}, got)
		require.Equal(t, payload, must(codecs[format].Encode(got)), "id and bytes are the same")
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 3, read)
}

// orderFile returns the .proto file of the orders.
func orderFile(namespace string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: new(namespace + "/order.proto"), Package: &namespace, Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Order"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: new("id"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
			{Name: new("total"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		}}},
	}
}

// serdes returns codecs for the schemas of serdes.py. The Protobuf schema has a subject of its own: Python
// registers a descriptor, leat the text of a file.
func serdes(t *testing.T, env *testenv.RegistryEnv, message proto.Message) map[string]content.Codec {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := must(sr.NewClient(sr.URLs(env.URL), sr.HTTPClient(&http.Client{Transport: transport})))
	r := must(registry.New(registry.Config{Client: client, Register: true, Timeout: patience}))
	schema := `{"title":"` + env.Namespace + `.Note","type":"object","properties":{"id":{"type":"string"},"total":{"type":"integer"}}}`
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("note.json", must(jsonschema.UnmarshalJSON(strings.NewReader(schema)))))
	compiled := must(compiler.Compile("note.json"))
	validate := func(b []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return err
		}
		return compiled.Validate(v)
	}
	avro := `{"type":"record","name":"OrderPlaced","namespace":"` + env.Namespace + `","fields":[{"name":"id","type":"string"},{"name":"total","type":"long"}]}`
	files := fstest.MapFS{env.Namespace + "/order.proto": {Data: []byte("syntax = \"proto3\";\npackage " + env.Namespace + ";\nmessage Order { string id = 1; int64 total = 2; }\n")}}
	return map[string]content.Codec{
		"avro":  must(registry.Avro[placed](r, avro, registry.Options{})),
		"json":  must(registry.JSON(r, schema, validate, registry.Options{})),
		"proto": must(registry.Proto(r, message, files, registry.Options{Subject: env.Namespace + ".text"})),
	}
}

// must returns v, and panics on an error of the test's own configuration.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
