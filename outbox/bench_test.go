package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

const (
	benchID    = "0190163d-8694-739b-aea5-966c26f8ad91"
	benchTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// benchHeaders are those of a common message.
func benchHeaders() map[string]string {
	return map[string]string{"content-type": "application/json", "tenant": "acme", "traceparent": benchTrace}
}

// BenchmarkPrepare completes and checks the messages of one Enqueue, which is what
// it does before it touches the database.
func BenchmarkPrepare(b *testing.B) {
	inject := outbox.InjectorFunc(func(_ context.Context, headers map[string]string) { headers["traceparent"] = benchTrace })
	for _, bench := range []struct {
		name     string
		preparer outbox.Preparer
		msg      outbox.Message
		n        int
	}{
		{"plain", outbox.Preparer{}, outbox.Message{ID: benchID}, 1},
		{"new-id", outbox.Preparer{}, outbox.Message{}, 1},
		{"headers", outbox.Preparer{}, outbox.Message{ID: benchID, Headers: benchHeaders()}, 1},
		{"injector", outbox.Preparer{Injector: inject}, outbox.Message{ID: benchID}, 1},
		{"messages=100", outbox.Preparer{}, outbox.Message{Headers: benchHeaders()}, 100},
	} {
		b.Run(bench.name, func(b *testing.B) {
			msgs := make([]outbox.Message, bench.n)
			for i := range msgs {
				msgs[i] = bench.msg
				msgs[i].Topic, msgs[i].Key, msgs[i].Payload = "orders", fmt.Sprintf("customer-%d", i), make([]byte, 512)
			}
			b.ReportAllocs()
			for b.Loop() {
				ready, err := bench.preparer.Prepare(b.Context(), msgs)
				if err != nil || len(ready) != bench.n {
					b.Fatal(len(ready), err)
				}
			}
		})
	}
}

// BenchmarkFromWatermill turns a Watermill message into one of the outbox.
func BenchmarkFromWatermill(b *testing.B) {
	msg := message.NewMessage(benchID, make([]byte, 512))
	msg.Metadata = benchHeaders()
	msg.Metadata.Set(outbox.HeaderKey, "customer-17")
	b.ReportAllocs()
	for b.Loop() {
		m, err := outbox.FromWatermill("orders", msg, nil)
		if err != nil || len(m.Headers) != 3 {
			b.Fatal(m.Headers, err)
		}
	}
}

// BenchmarkToWatermill turns a record into a Watermill message.
func BenchmarkToWatermill(b *testing.B) {
	record := outbox.Record{
		Message:   outbox.Message{ID: benchID, Topic: "orders", Key: "customer-17", Type: "OrderPlaced", Headers: benchHeaders(), Payload: make([]byte, 512)},
		CreatedAt: time.Now(),
	}
	b.ReportAllocs()
	for b.Loop() {
		if msg := outbox.ToWatermill(&record); len(msg.Metadata) != 7 {
			b.Fatal(msg.Metadata)
		}
	}
}
