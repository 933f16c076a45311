package payload_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/leat-go/leat/cmd/leat/internal/payload"
)

// order is a message of a file that imports another.
func order() *descriptorpb.FileDescriptorSet {
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, of *string) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Type: &kind, TypeName: of, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	return &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("money.proto"), Package: new("shop.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Money"), Field: []*descriptorpb.FieldDescriptorProto{
			field("cents", 1, descriptorpb.FieldDescriptorProto_TYPE_INT64, nil),
		}}},
	}, {
		Name: new("order.proto"), Package: new("shop.v1"), Syntax: new("proto3"), Dependency: []string{"money.proto"},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Order"), Field: []*descriptorpb.FieldDescriptorProto{
			field("order_id", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, nil),
			field("total", 2, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, new(".shop.v1.Money")),
		}}},
	}}}
}

// placed is an Order of 12 cents, as protoc's code writes it.
var placed = []byte{0x0a, 3, 'o', '-', '1', 0x12, 2, 0x08, 12}

func written(t *testing.T, set *descriptorpb.FileDescriptorSet) string {
	t.Helper()
	body, err := proto.Marshal(set)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "shop.pb")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// A payload is what its descriptor says, by the names of the .proto file; what is none is an error.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	r, err := payload.New(payload.Sources{Descriptors: written(t, order()), Protobuf: []string{"orders.*=shop.v1.Order", "a=b=shop.v1.Money"}})
	require.NoError(t, err)
	framed := func(index ...byte) []byte { return slices.Concat([]byte{0, 0, 0, 0, 7}, index, placed) }
	for _, stored := range [][]byte{placed, framed(0), framed(2, 0)} {
		text, err := r.Show("orders.eu", nil, stored)
		require.NoError(t, err)
		require.JSONEq(t, `{"order_id":"o-1","total":{"cents":"12"}}`, string(text))
	}
	_, err = r.Show("orders.eu", nil, placed[:4])
	require.ErrorContains(t, err, "is not a shop.v1.Order")
	for _, index := range [][]byte{{2, 2}, {4, 0, 0}, {1}, {0x80}, {0xfe, 0xff, 0xff, 0xff, 0x0f}} {
		_, err = r.Show("orders.eu", nil, framed(index...))
		require.ErrorContains(t, err, "of its file, not [0]")
	}
	text, err := r.Show("a=b", nil, []byte{0x08, 12})
	require.NoError(t, err)
	require.JSONEq(t, `{"cents":"12"}`, string(text))
	text, err = r.Show("mails", nil, placed)
	require.NoError(t, err)
	require.Equal(t, placed, text, "nobody says that it is Protobuf")
}

// What cannot be meant is refused, and the error names it.
func TestProtobuf_Refuses(t *testing.T) {
	t.Parallel()
	file, half := written(t, order()), order()
	half.File = half.File[1:]
	noise := filepath.Join(t.TempDir(), "noise")
	require.NoError(t, os.WriteFile(noise, []byte("syntax = \"proto3\";"), 0o600))
	for _, c := range []struct {
		file     string
		messages []string
		setting  string
		index    int
		text     string
	}{
		{file, []string{"orders"}, "protobuf", 0, "must be TOPICS=MESSAGE"},
		{file, []string{"=shop.v1.Order"}, "protobuf", 0, "must be TOPICS=MESSAGE"},
		{file, []string{"orders=shop v1"}, "protobuf", 0, "must be TOPICS=MESSAGE"},
		{"", []string{"orders=shop.v1.Order"}, "protobuf", 0, "needs a file"},
		{file, []string{"orders=shop.v1.Order", "orders=shop.v1.Odrer"}, "protobuf", 1, "no such message"},
		{file, []string{"orders=shop.v1.Order.total"}, "protobuf", 0, "no such message"},
		{file, nil, "descriptors", 0, "name them"},
		{"/nowhere", []string{"orders=shop.v1.Order"}, "descriptors", 0, "no such file"},
		{noise, []string{"orders=shop.v1.Order"}, "descriptors", 0, "is not a descriptor set"},
		{written(t, half), []string{"orders=shop.v1.Order"}, "descriptors", 0, "--include_imports"},
	} {
		_, err := payload.New(payload.Sources{Descriptors: c.file, Protobuf: c.messages})
		var wrong *payload.ConfigError
		require.ErrorAs(t, err, &wrong, c.text)
		require.Equal(t, c.setting, wrong.Setting, c.text)
		require.Equal(t, c.index, wrong.Index, c.text)
		require.ErrorContains(t, err, c.text)
	}
}
