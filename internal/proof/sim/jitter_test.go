package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScatter checks that the numbers are in [0, 1), the same for the same time, and far apart for
// neighbouring times.
func TestScatter(t *testing.T) {
	t.Parallel()
	sum := 0.0
	for x := range uint64(10_000) {
		f := scatter(x)
		require.GreaterOrEqual(t, f, 0.0)
		require.Less(t, f, 1.0)
		require.InDelta(t, f, scatter(x), 0)
		sum += f
	}
	require.InDelta(t, 5_000, sum, 150)
	require.NotEqual(t, scatter(1), scatter(2))
}
