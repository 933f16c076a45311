package kafkasink_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// BenchmarkSendWith delivers pages of 512-byte records over eight partitions, each
// in a transaction with a position. Metric x-idempotent is its rate as a part of
// that of the other sink in the same run.
func BenchmarkSendWith(b *testing.B) {
	if testing.Short() {
		b.Skip("needs Kafka")
	}
	for _, size := range []int{100, 1000, 5000, 10000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			env := testenv.Kafka(b)
			page := records(env.Topic(b, "bench", 8), size, 1000, 512)
			cfg := transactionalConfig(env.Prefix)
			exact, err := kafkasink.NewTransactional(env.Brokers, cfg)
			require.NoError(b, err)
			defer func() { _ = exact.Close() }()
			_, err = exact.Fence(b.Context(), slotZero)
			require.NoError(b, err)
			idempotent, err := kafkasink.New(env.Brokers, cfg.Config)
			require.NoError(b, err)
			defer func() { _ = idempotent.Close() }()
			position := make([]byte, 500)
			both := func() (ours, theirs time.Duration) {
				began := time.Now()
				require.NoError(b, exact.SendWith(b.Context(), slotZero, page, position))
				middle := time.Now()
				for _, r := range idempotent.Send(b.Context(), page) {
					require.NoError(b, r.Err)
				}
				return middle.Sub(began), time.Since(middle)
			}
			for range 10 { // a broker that has just started is slow
				both()
			}
			var mine, other time.Duration
			for b.Loop() {
				ours, theirs := both()
				mine, other = mine+ours, other+theirs
			}
			b.ReportMetric(float64(size*b.N)/mine.Seconds(), "msg/s")
			b.ReportMetric(float64(other)/float64(mine), "x-idempotent")
			b.ReportMetric(float64((mine-other).Milliseconds())/float64(b.N), "ms-more/page")
		})
	}
}
