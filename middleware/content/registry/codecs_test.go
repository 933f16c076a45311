package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/proto"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
)

// What the encoder would drop, or could not write, is found when the codec is made, in
// nested records, lists, maps and unions, too.
func TestC10_FieldsOfBoth(t *testing.T) {
	t.Parallel()
	const line = `{"type":"record","name":"Line","fields":[{"name":"sku","type":"string"}]}`
	record := func(field string) string {
		return `{"type":"record","name":"Order","namespace":"shop","fields":[` + field + `]}`
	}
	lines := func(of string) string { return record(`{"name":"Lines","type":` + of + `}`) }
	type fit struct {
		SKU string `avro:"sku"`
	}
	type note struct {
		Text string `avro:"note"`
	}
	type inner struct {
		SKU  string `avro:"sku"`
		Note string
	}
	type tree struct {
		Children []tree `avro:"children"`
		Extra    bool
	}
	r := newFake(t).open(t, registry.Config{})
	check := func(want string, open func() (content.Codec, error)) {
		t.Helper()
		_, err := open()
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorContains(t, err, want)
	}
	lost := "inner has a field Note, which shop.Line lacks: it would be lost"
	o := registry.Options{}
	check("", func() (content.Codec, error) {
		return registry.Avro[struct{ Lines []fit }](r, lines(`{"type":"array","items":`+line+`}`), o)
	})
	check(lost, func() (content.Codec, error) {
		return registry.Avro[struct{ Lines []inner }](r, lines(`{"type":"array","items":`+line+`}`), o)
	})
	check(lost, func() (content.Codec, error) {
		return registry.Avro[struct{ Lines map[string]*inner }](r, lines(`{"type":"map","values":`+line+`}`), o)
	})
	check(lost, func() (content.Codec, error) {
		return registry.Avro[struct{ Lines *inner }](r, lines(`["null",`+line+`]`), o)
	})
	check("a map loses keys", func() (content.Codec, error) { return registry.Avro[struct{ Lines map[string]any }](r, lines(line), o) })
	check("", func() (content.Codec, error) {
		return registry.Avro[struct{ Lines any }](r, lines(`["null",`+line+`,{"type":"record","name":"Other","fields":[]}]`), o)
	})
	check("tree has a field Extra, which shop.Order lacks", func() (content.Codec, error) {
		return registry.Avro[tree](r, record(`{"name":"children","type":{"type":"array","items":"Order"}}`), o)
	})
	check("has no field for total of shop.OrderPlaced", func() (content.Codec, error) {
		return registry.Avro[struct {
			ID string `avro:"id"`
		}](r, orderSchema, o)
	})
	check("", func() (content.Codec, error) {
		return registry.Avro[struct {
			orderPlaced
			Skipped int `avro:"-"`
			hidden  int
		}](r, orderSchema, o)
	})
	check("a field note, which", func() (content.Codec, error) {
		return registry.Avro[struct {
			orderPlaced
			Note note `avro:",inline"`
		}](r, orderSchema, o)
	})
	check("is not a struct", func() (content.Codec, error) { return registry.Avro[map[string]any](r, orderSchema, o) })
	check("not that of an Avro record", func() (content.Codec, error) { return registry.Avro[orderPlaced](r, `"string"`, o) })
	check("leat: registry: ", func() (content.Codec, error) { return registry.Avro[orderPlaced](r, `{"type":`, o) })
}

func TestAvro_Values(t *testing.T) {
	t.Parallel()
	codec := orders(newFake(t).open(t, registry.Config{Register: true}))
	require.Equal(t, "application/vnd.confluent.avro", codec.ContentType())
	_, err := codec.Encode((*orderPlaced)(nil))
	require.ErrorContains(t, err, "subject shop.OrderPlaced: the value is nil")
	_, err = codec.Encode(struct{}{})
	require.ErrorContains(t, err, "a struct {} is not a registry_test.orderPlaced")
	require.ErrorContains(t, codec.Decode(nil, orderPlaced{}), "is not a *registry_test.orderPlaced")
}

// Writers are other versions, other types, and other records of the same name: what is ours is
// read by Avro's rules, and all else is refused for good.
func TestC11_Writers(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	reader := strings.Replace(orderSchema, `"namespace"`, `"aliases":["Order","old.Placed"],"namespace"`, 1)
	codec := must(registry.Avro[orderPlaced](f.open(t, registry.Config{}), reader, registry.Options{}))
	record := func(name, fields string) string {
		return `{"type":"record","name":"` + name + `","fields":[` + fields + `]}`
	}
	const id, total, note = `{"name":"id","type":"string"}`, `{"name":"total","type":"int"}`, `{"name":"note","type":"string"}`
	for i, c := range []struct {
		schema sr.Schema
		data   string
		err    string
	}{
		{schema: sr.Schema{Schema: record("shop.OrderPlaced", total+","+note+","+id)}, data: "\x0e\x02n\x02a"},
		{schema: sr.Schema{Schema: record("shop.Order", id+","+total)}, data: "\x02a\x0e"},
		{schema: sr.Schema{Schema: record("old.Placed", id+","+total)}, data: "\x02a\x0e"},
		{sr.Schema{Schema: record("other.OrderPlaced", id+","+total)}, "\x02a\x0e", `record "other.OrderPlaced" is another type`},
		{sr.Schema{Schema: record("OrderPlaced", id+","+total)}, "\x02a\x0e", `record "OrderPlaced" is another type`},
		{sr.Schema{Schema: `"string"`}, "\x02a", `record "" is another type`},
		{sr.Schema{Schema: record("shop.OrderPlaced", id)}, "\x02a", "total"},
		{sr.Schema{Schema: `{"title":"shop.OrderPlaced"}`, Type: sr.TypeJSON}, "{}", "the schema is JSON, not Avro"},
		{sr.Schema{Schema: record("shop.OrderPlaced", id+","+total)}, "\x02a\x0e\x00", "1 bytes are left over"},
		{sr.Schema{Schema: record("shop.OrderPlaced", id+","+total)}, "\x02", "schema "},
		{sr.Schema{Schema: record("shop.OrderPlaced", id+","+total)}, "\xfe\xff\xff\xff\xff\x0f", "schema "},
	} {
		f.Reset()
		f.SeedSchema("theirs", 1, i+1, c.schema)
		var got orderPlaced
		err := codec.Decode([]byte("\x00\x00\x00\x00"+string(rune(i+1))+c.data), &got)
		if c.err == "" {
			require.NoError(t, err)
			require.Equal(t, orderPlaced{"a", 7}, got)
			continue
		}
		require.ErrorContains(t, err, c.err)
		require.ErrorContains(t, err, "subject shop.OrderPlaced: payload of schema ")
		require.True(t, inbox.IsPermanent(err), "%v", err)
	}
	for _, b := range []string{"", `{"id":"a"}`, "\x00\x00\x00\x00\x00\x00\x00"} {
		require.True(t, inbox.IsPermanent(codec.Decode([]byte(b), &orderPlaced{})))
	}
}

// The schema of a writer may be in parts.
func TestAvro_WriterWithReferences(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SeedSchema("money", 1, 1, sr.Schema{Schema: `{"type":"record","name":"shop.Money","fields":[{"name":"cents","type":"long"}]}`})
	money := sr.SchemaReference{Name: "shop.Money", Subject: "money", Version: 1}
	f.SeedSchema("price", 1, 2, sr.Schema{Schema: `{"type":"record","name":"shop.Price","fields":[{"name":"net","type":"Money"}]}`, References: []sr.SchemaReference{money}})
	price := sr.SchemaReference{Name: "shop.Price", Subject: "price", Version: 1}
	f.SeedSchema("paid", 1, 3, sr.Schema{Schema: `{"type":"record","name":"shop.Paid","fields":[{"name":"price","type":"Price"},{"name":"fee","type":"Money"}]}`, References: []sr.SchemaReference{price, money}})
	type paid struct {
		Fee struct {
			Cents int64 `avro:"cents"`
		} `avro:"fee"`
	}
	r := f.open(t, registry.Config{})
	codec := must(registry.Avro[paid](r, `{"type":"record","name":"shop.Paid","fields":[{"name":"fee","type":{"type":"record","name":"Money","fields":[{"name":"cents","type":"long"}]}}]}`, registry.Options{}))
	b := []byte{0, 0, 0, 0, 3, 2, 4}
	var got paid
	require.NoError(t, codec.Decode(b, &got))
	require.EqualValues(t, 2, got.Fee.Cents)
	text, err := r.Show("", nil, b)
	require.NoError(t, err)
	require.JSONEq(t, `{"price":{"net":{"cents":1}},"fee":{"cents":2}}`, string(text))
}

// Arbitrary bytes neither panic nor make anything but an error that is permanent.
func FuzzAvro(f *testing.F) {
	fake := newFake(f)
	type event struct {
		ID    string            `avro:"id"`
		Sums  []float64         `avro:"sums"`
		Notes map[string]string `avro:"notes"`
		Next  *event            `avro:"next"`
	}
	r := fake.open(f, registry.Config{Register: true})
	codec := must(registry.Avro[event](r, `{"type":"record","name":"event","fields":[{"name":"id","type":"string"},{"name":"sums","type":{"type":"array","items":"double"}},{"name":"notes","type":{"type":"map","values":"string"}},{"name":"next","type":["null","event"]}]}`, registry.Options{}))
	f.Add(must(codec.Encode(event{ID: "a", Sums: []float64{1}, Notes: map[string]string{"k": "v"}, Next: &event{}}))[5:])
	f.Add([]byte("\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append([]byte{0, 0, 0, 0, 1}, b...)
		var got event
		if err := codec.Decode(b, &got); err != nil {
			require.True(t, inbox.IsPermanent(err), "%v", err)
			return
		}
		again, err := codec.Encode(got)
		require.NoError(t, err)
		require.NoError(t, codec.Decode(again, &event{}))
	})
}

func TestProto(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open(t, registry.Config{Register: true})
	placed := fill(shopMessage("shop", "OrderPlaced"), `id:"a" total{cents:7} at{seconds:1}`)
	codec := must(registry.Proto(r, shopMessage("shop", "OrderPlaced"), shopFiles("shop"), registry.Options{}))
	require.Equal(t, "application/vnd.confluent.protobuf", codec.ContentType())
	b, err := codec.Encode(placed)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 0, 2, 0}, b[:6])
	require.True(t, f.SubjectExists("shop/money.proto"))
	require.True(t, f.SubjectExists("shop.OrderPlaced"))

	// A process that has not written asks which message the id means.
	reader := f.open(t, registry.Config{})
	other := must(registry.Proto(reader, shopMessage("shop", "OrderPlaced"), shopFiles("shop"), registry.Options{}))
	got := shopMessage("shop", "OrderPlaced")
	require.NoError(t, other.Decode(b, got))
	requireProto(t, placed, got)
	text, err := reader.Show("", nil, b)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","total":{"cents":"7"},"at":"1970-01-01T00:00:01Z"}`, string(text))

	_, err = codec.Encode(shopMessage("shop", "OrderShipped"))
	require.ErrorContains(t, err, "is not a message shop.OrderPlaced")
	require.ErrorContains(t, codec.Decode(b, &got), "is not a message shop.OrderPlaced")
	require.NoError(t, r.Ready(t.Context()))
}

// Another message of the file, or of another file, would decode without an error. It is
// refused for good.
func TestC13_OtherMessages(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open(t, registry.Config{Register: true})
	codec := must(registry.Proto(r, shopMessage("shop", "OrderPlaced"), shopFiles("shop"), registry.Options{}))
	shipped := must(registry.Proto(r, shopMessage("shop", "OrderShipped"), shopFiles("shop"), registry.Options{}))
	parcel := must(registry.Proto(r, shopMessage("shop", "OrderShipped.Parcel"), shopFiles("shop"), registry.Options{}))
	foreign := must(registry.Proto(r, shopMessage("depot", "OrderPlaced"), shopFiles("depot"), registry.Options{}))
	encode := func(codec content.Codec, m proto.Message) []byte { return must(codec.Encode(m)) }
	f.SeedSchema("note", 1, 100, sr.Schema{Schema: `{"title":"shop.OrderPlaced"}`, Type: sr.TypeJSON})
	for want, b := range map[string][]byte{
		"message [1] of its file, not [0], is another type":   encode(shipped, fill(shopMessage("shop", "OrderShipped"), `id:"a"`)),
		"message [1 0] of its file, not [0], is another type": encode(parcel, fill(shopMessage("shop", "OrderShipped.Parcel"), `code:"a"`)),
		`message "depot.OrderPlaced" is another type`:         encode(foreign, fill(shopMessage("depot", "OrderPlaced"), `id:"a"`)),
		"the schema is JSON, not Protobuf":                    {0, 0, 0, 0, 100, 0},
		"no valid index":                                      {0, 0, 0, 0, 100, 1},
	} {
		err := codec.Decode(b, shopMessage("shop", "OrderPlaced"))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "subject shop.OrderPlaced: payload of schema ")
		require.True(t, inbox.IsPermanent(err), "%v", err)
	}
	b := encode(codec, fill(shopMessage("shop", "OrderPlaced"), `id:"a"`))
	require.True(t, inbox.IsPermanent(codec.Decode(b[:len(b)-1], shopMessage("shop", "OrderPlaced"))))
}

// The text of the file is embedded apart from the compiled message, and may be another version.
func TestC14_Files(t *testing.T) {
	t.Parallel()
	r := newFake(t).open(t, registry.Config{})
	_, err := registry.Proto(r, nil, shopFiles("shop"), registry.Options{})
	require.ErrorContains(t, err, "message = <nil>: is required")
	files := shopFiles("shop")
	delete(files, "shop/money.proto")
	_, err = registry.Proto(r, shopMessage("shop", "OrderPlaced"), files, registry.Options{})
	require.ErrorContains(t, err, "message shop.OrderPlaced: the text of its file: open shop/money.proto")
	files = shopFiles("shop")
	files["shop/order.proto"] = &fstest.MapFile{Data: []byte(`package shop; message OrderShipped {}`)}
	_, err = registry.Proto(r, shopMessage("shop", "OrderPlaced"), files, registry.Options{})
	require.ErrorContains(t, err, `shop/order.proto is another version than the compiled one: it has "shop.OrderShipped" in its place`)
}

// A value that the schema does not allow does not commit, and none reaches the handler.
func TestC15_JSON(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	validate := func(b []byte) error {
		var o orderPlaced
		if err := json.Unmarshal(b, &o); err != nil || o.ID == "" {
			return errors.New("id: must not be empty")
		}
		return nil
	}
	r := f.open(t, registry.Config{Register: true})
	codec := must(registry.JSON(r, `{"title":"shop.OrderPlaced"}`, validate, registry.Options{}))
	require.Equal(t, "application/vnd.confluent.json", codec.ContentType())
	_, err := codec.Encode(orderPlaced{})
	require.ErrorContains(t, err, "subject shop.OrderPlaced: id: must not be empty")
	b, err := codec.Encode(&orderPlaced{"a", 1})
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00\x00\x01"+`{"id":"a","total":1}`, string(b))
	var got orderPlaced
	require.NoError(t, codec.Decode(b, &got))
	require.Equal(t, orderPlaced{"a", 1}, got)
	text, err := r.Show("", nil, b)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","total":1}`, string(text))

	// Another version's payload needs no registry.
	asked := f.asked.Load()
	require.NoError(t, codec.Decode(append([]byte{0, 0, 0, 0, 99}, b[5:]...), &got))
	for _, text := range []string{`{}`, `{"id":"a"}{}`, `{"id":`, ""} {
		require.True(t, inbox.IsPermanent(codec.Decode([]byte("\x00\x00\x00\x00\x63"+text), &got)), text)
	}
	require.Equal(t, asked, f.asked.Load())

	_, err = registry.JSON(r, `{}`, validate, registry.Options{})
	require.ErrorContains(t, err, `Subject = "": is required`)
	_, err = registry.JSON(r, `{"title":"a"}`, nil, registry.Options{})
	require.ErrorContains(t, err, "is required")
	_, err = registry.JSON(r, `[`, validate, registry.Options{})
	require.Error(t, err)
}

// Show needs no codec for Avro, and says why it cannot show a payload.
func TestShow(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	writer := f.open(t, registry.Config{Register: true})
	avro, err := orders(writer).Encode(orderPlaced{"a", 1})
	require.NoError(t, err)
	message, err := must(registry.Proto(writer, shopMessage("shop", "OrderPlaced"), shopFiles("shop"), registry.Options{})).Encode(shopMessage("shop", "OrderPlaced"))
	require.NoError(t, err)
	f.SeedSchema("note", 1, 100, sr.Schema{Schema: `{}`, Type: sr.TypeJSON})
	r := f.open(t, registry.Config{Retry: time.Nanosecond})
	text, err := r.Show("orders", nil, avro)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","total":1}`, string(text))
	for want, b := range map[string][]byte{
		"payload of schema 1: 1 bytes are left over":                        append(avro, 0),
		"there is no codec for message [0] of the file of shop.OrderPlaced": message,
		"payload of schema 100: it is not JSON":                             {0, 0, 0, 0, 100, '{'},
		"payload of schema 99: 404: ":                                       {0, 0, 0, 0, 99},
		"does not begin with a zero byte and the id of a schema":            []byte(`{"id":1}`),
	} {
		_, err := r.Show("orders", nil, b)
		require.ErrorContains(t, err, want)
	}
	f.answer(500, "")
	_, err = f.open(t, registry.Config{}).Show("orders", nil, avro)
	require.ErrorIs(t, err, registry.ErrUnavailable)
}
