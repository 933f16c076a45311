package compare

import (
	"math"
	"math/big"
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

func TestRatiosAreThoseWithinRounds(t *testing.T) {
	t.Parallel()
	require.InDeltaSlice(t, []float64{2, 0.5}, Ratios([]float64{4, 3}, []float64{2, 6}), 1e-9)
}

// Of the values 1 to n, n odd, a drawn median is at most k with the probability
// that more than half of n draws are. Each draw is with probability k/n. The exact
// bound is where this passes a fortieth.
func TestIntervalIsTheExactOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 7, 11, 21, 31, 55} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64((i*2)%n + 1) // in no order
		}
		want := 0.0
		for k := 1; want == 0; k++ {
			if medianAtMost(k, n) > 0.025 {
				want = float64(k)
			}
		}
		low, high := Interval(values)
		require.InDelta(t, want, low, 1e-9, "n = %d", n)
		require.InDelta(t, float64(n+1)-want, high, 1e-9, "n = %d", n)
	}
	low, high := Interval([]float64{1, 2, 3, 4, 5, 6, 7})
	require.Equal(t, []float64{2, 6}, []float64{low, high})
}

func medianAtMost(k, n int) (sum float64) {
	p := float64(k) / float64(n)
	for j := n/2 + 1; j <= n; j++ {
		ways, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(n), int64(j))).Float64()
		sum += ways * math.Pow(p, float64(j)) * math.Pow(1-p, float64(n-j))
	}
	return sum
}

func TestIntervalIsTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	values := []float64{0.81, 0.87, 0.84, 0.92, 0.79, 0.85, 0.88, 0.83}
	low, high := Interval(values)
	again, andAgain := Interval(values)
	require.Equal(t, []float64{low, high}, []float64{again, andAgain})
	require.Less(t, low, Median(values))
	require.Greater(t, high, Median(values))
	require.Equal(t, []float64{0.81, 0.87, 0.84, 0.92, 0.79, 0.85, 0.88, 0.83}, values, "must stay as they are")
}

func TestTheMedianOfWhatWasDrawn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		drawn []int
		want  float64
	}{
		{[]int{1}, 1},
		{[]int{2, 0}, 1},
		{[]int{0, 2}, 2},
		{[]int{1, 1}, 1.5},
		{[]int{3, 0, 0}, 1},
		{[]int{1, 1, 1}, 2},
		{[]int{2, 0, 0, 2}, 2.5},
		{[]int{1, 2, 0, 1}, 2},
		{[]int{0, 0, 1, 3}, 4},
	} {
		sorted := []float64{1, 2, 3, 4}[:len(c.drawn)]
		require.InDelta(t, c.want, medianOfDrawn(sorted, c.drawn), 1e-9, "%v", c.drawn)
	}
}
