package kafkasink_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// BenchmarkSend_InProcess delivers pages of 512-byte records to a broker in this
// process. Its allocations, and its time, are the broker's and the client's as well:
// they tell one version of the sink from the next, and are not rates.
func BenchmarkSend_InProcess(b *testing.B) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprintf("records=%d", size), func(b *testing.B) {
			env := testenv.Fake(b)
			page := records(env.Topic(b, "bench", 8), size, 1000, 512)
			s, err := kafkasink.New(env.Brokers, kafkasink.Config{})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			b.ReportAllocs()
			for b.Loop() {
				for _, result := range s.Send(b.Context(), page) {
					if result.Err != nil {
						b.Fatal(result.Err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/record")
		})
	}
}
