package compare

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{4, 1, 3, 2}
	require.InDelta(t, 2.5, Median(values), 1e-9)
	require.InDelta(t, 1, Quantile(values, 0), 1e-9)
	require.InDelta(t, 4, Quantile(values, 1), 1e-9)
	require.InDelta(t, 1.75, Quantile(values, 0.25), 1e-9)
	require.Equal(t, []float64{4, 1, 3, 2}, values, "must stay as they are")
	require.InDelta(t, 7, Median([]float64{7}), 1e-9)
}

func TestOrderTakesTurns(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{0, 1, 2}, order(0, 3))
	require.Equal(t, []int{2, 1, 0}, order(1, 3))
}
