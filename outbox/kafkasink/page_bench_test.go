package kafkasink

import (
	"fmt"
	"testing"
	"time"

	"github.com/leat-go/leat/outbox"
)

// benchSize is the largest page of a relay that is not told otherwise.
const benchSize = 5000

// benchPage returns records of 512 bytes over a thousand keys.
func benchPage(headers map[string]string) []outbox.Record {
	records := make([]outbox.Record, benchSize)
	for i := range records {
		records[i] = outbox.Record{
			Message: outbox.Message{
				ID: fmt.Sprintf("0190163d-8694-739b-aea5-%012x", i), Topic: "orders", Key: fmt.Sprintf("customer-%d", i%1000),
				Type: "OrderPlaced", Payload: make([]byte, 512), Headers: headers,
			},
			Seq: int64(i) + 1, CreatedAt: time.Now(),
		}
	}
	return records
}

// BenchmarkPage makes the Kafka form of a page, in the memory of the page before.
func BenchmarkPage(b *testing.B) {
	headers := map[string]string{
		"content-type": "application/json", "tenant": "acme", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
	for _, bench := range []struct {
		name    string
		format  Format
		headers map[string]string
	}{
		{"no-headers", FormatLeat, nil},
		{"headers=3", FormatLeat, headers},
		{"watermill/headers=3", FormatWatermill, headers},
	} {
		b.Run(bench.name, func(b *testing.B) {
			records := benchPage(bench.headers)
			p := page{format: bench.format}
			b.ReportAllocs()
			for b.Loop() {
				p.reset(benchSize)
				for i := range records {
					if !fits(p.add(i, &records[i]), 1<<20) {
						b.Fatal("it is small")
					}
				}
			}
			if len(p.records) != benchSize {
				b.Fatal(len(p.records))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchSize), "ns/record")
		})
	}
}
