package kafkasource_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/outbox"
)

// BenchmarkUnmarshal makes a message of a record as leat's sink sends it.
func BenchmarkUnmarshal(b *testing.B) {
	const id = "0190163d-8694-739b-aea5-966c26f8ad91"
	record := &kgo.Record{Topic: "orders", Key: []byte("customer-17"), Value: make([]byte, 512), Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
		{Key: outbox.HeaderEventID, Value: []byte(id)},
		{Key: outbox.HeaderEventTime, Value: []byte("2026-11-21T01:02:03.456789Z")},
		{Key: outbox.HeaderEventType, Value: []byte("OrderPlaced")},
		{Key: outbox.HeaderWatermillUUID, Value: []byte(id)},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if msg, err := kafkasource.Unmarshal(record); err != nil || msg.UUID != id || len(msg.Metadata) != 5 {
			b.Fatal(msg, err)
		}
	}
}
