package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"

	"github.com/leat-go/leat/middleware/content/registry"
)

// BenchmarkAvro encodes and decodes an event by Avro alone, and through a registry that knows it,
// in turns.
func BenchmarkAvro(b *testing.B) {
	type event struct {
		ID       string   `avro:"id"`
		Customer string   `avro:"customer"`
		Total    int64    `avro:"total"`
		Tags     []string `avro:"tags"`
	}
	const schema = `{"type":"record","name":"shop.Event","fields":[{"name":"id","type":"string"},{"name":"customer","type":"string"},{"name":"total","type":"long"},{"name":"tags","type":{"type":"array","items":"string"}}]}`
	alone := avro.MustParse(schema)
	f := newFake(b)
	r := f.open(b, registry.Config{Register: true})
	codec := must(registry.Avro[event](r, schema, registry.Options{}))
	require.NoError(b, r.Ready(b.Context()))
	v := event{"0190a6e0-7c1e-7000-8000-000000000000", "ann", 4200, []string{"new", "gift"}}
	plain, framed := must(alone.Encode(&v)), must(codec.Encode(&v))
	b.Run("encode/alone", func(b *testing.B) {
		for b.Loop() {
			_ = must(alone.Encode(&v))
		}
	})
	b.Run("encode/registry", func(b *testing.B) {
		for b.Loop() {
			_ = must(codec.Encode(&v))
		}
	})
	b.Run("decode/alone", func(b *testing.B) {
		for b.Loop() {
			var got event
			_ = must(alone.Decode(plain, &got))
		}
	})
	b.Run("decode/registry", func(b *testing.B) {
		for b.Loop() {
			var got event
			if err := codec.Decode(framed, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	// A process that only reads finds the schema by its id.
	reader := must(registry.Avro[event](f.open(b, registry.Config{}), schema, registry.Options{}))
	b.Run("decode/reader", func(b *testing.B) {
		for b.Loop() {
			var got event
			if err := reader.Decode(framed, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
}
