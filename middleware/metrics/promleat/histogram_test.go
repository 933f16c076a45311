package promleat

import (
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
)

// TestHistogram_AsTheClients: values that come one by one, or many at a time, fall where
// those of the client's own histogram do.
func TestHistogram_AsTheClients(t *testing.T) {
	t.Parallel()
	bounds := []float64{.1, .5, 1, 10}
	own := newHistograms(metrics.Definition{Name: "x", Help: "x", Labels: []string{"topic"}, Buckets: bounds})
	theirs := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "x", Help: "x", Buckets: bounds}, []string{"topic"})
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		topic := []string{"orders", "mail"}[random.IntN(2)]
		values := make([]float64, random.IntN(50))
		for i := range values {
			switch random.IntN(3) {
			case 0:
				values[i] = bounds[random.IntN(len(bounds))]
			case 1:
				values[i] = random.Float64()
			default:
				values[i] = random.ExpFloat64() * 5
			}
			theirs.WithLabelValues(topic).Observe(values[i])
		}
		own.with([]string{topic}).ObserveAll(values)
		v := random.Float64() * 20
		theirs.WithLabelValues(topic).Observe(v)
		own.with([]string{topic}).Observe(v)
	}
	got, want := gather(t, own), gather(t, theirs)
	require.Len(t, got, 2)
	for i := range want {
		require.InDelta(t, want[i].GetHistogram().GetSampleSum(), got[i].GetHistogram().GetSampleSum(), 1e-6)
		require.Equal(t, want[i].GetHistogram().GetSampleCount(), got[i].GetHistogram().GetSampleCount())
		require.Equal(t, want[i].GetLabel()[0].GetValue(), got[i].GetLabel()[0].GetValue())
		require.Len(t, got[i].GetHistogram().GetBucket(), len(bounds))
		for j, bucket := range want[i].GetHistogram().GetBucket() {
			require.Equal(t, bucket.GetCumulativeCount(), got[i].GetHistogram().GetBucket()[j].GetCumulativeCount())
		}
	}
}

func gather(t *testing.T, c prometheus.Collector) []*dto.Metric {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	return families[0].GetMetric()
}
