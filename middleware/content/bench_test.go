package content_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// kilobyte is a message with a payload of 1 KiB.
func kilobyte() outbox.Message {
	return outbox.Message{
		ID: "01978f2e-0000-7000-8000-000000000001", Topic: "orders", Key: "17", Type: "shop.OrderPlaced", OccurredAt: noon,
		Payload: append(append([]byte(`{"a":"`), bytes.Repeat([]byte("a"), 1016)...), `"}`...),
		Headers: map[string]string{"content-type": "application/json", "event-version": "1"},
	}
}

// oneKey is what a cache of keys costs that has the key.
type oneKey struct{ content.AEAD }

func (k oneKey) Current(context.Context, string) (string, content.AEAD, error) {
	return "17/0", k.AEAD, nil
}

func (k oneKey) Key(context.Context, string) (content.AEAD, error) { return k.AEAD, nil }

func BenchmarkContent(b *testing.B) {
	store := newBlobs()
	for _, cfg := range []struct {
		name string
		content.Config
	}{
		{"seal", content.Config{Seal: &content.Seal{Keys: oneKey{newKey()}}}},
		{"claim", content.Config{Claim: &content.Claim{Blobs: store, Over: 512}}},
		{"cloudevents_binary", content.Config{CloudEvents: &content.CloudEvents{Source: "/shop"}}},
		{"cloudevents_structured", content.Config{CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true}}},
	} {
		c := newContent(b, cfg.Config)
		m := kilobyte()
		b.Run(cfg.name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Encode(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
		msg := deliver(b, encode(b, c, m))
		handle := c.Handle(func(context.Context, *message.Message) error { return nil })
		b.Run(cfg.name+"/open", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := handle(b.Context(), msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAEAD is what sealing costs at least.
func BenchmarkAEAD(b *testing.B) {
	key, m := newKey(), kilobyte()
	ad := bytes.Repeat([]byte("a"), 100)
	for b.Loop() {
		_, _ = key.Encrypt(m.Payload, ad)
	}
}

func BenchmarkMarshaler(b *testing.B) {
	_, _, third := marshalers(b)
	event := placed3{"17", 200, "EUR"}
	b.Run("marshal", func(b *testing.B) {
		for b.Loop() {
			if _, err := third.Marshal(&event); err != nil {
				b.Fatal(err)
			}
		}
	})
	msg, err := third.Marshal(&event)
	require.NoError(b, err)
	b.Run("unmarshal", func(b *testing.B) {
		for b.Loop() {
			if err := third.Unmarshal(msg, &event); err != nil {
				b.Fatal(err)
			}
		}
	})
}
