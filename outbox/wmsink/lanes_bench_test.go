package wmsink_test

import (
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox/wmsink"
)

// free is a publisher that costs nothing.
type free struct{}

func (free) Publish(string, ...*message.Message) error { return nil }

func (free) Close() error { return nil }

// BenchmarkSend hands pages of 1,000 records to a publisher that costs nothing: what
// is left is the sink's own work.
func BenchmarkSend(b *testing.B) {
	const size = 1000
	for _, lanes := range []int{1, 16} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			sink := newSink(b, free{}, wmsink.Config{Lanes: lanes})
			page := records(size, size)
			b.ReportAllocs()
			for b.Loop() {
				for _, result := range sink.Send(b.Context(), page) {
					if result.Err != nil {
						b.Fatal(result.Err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/record")
		})
	}
}
