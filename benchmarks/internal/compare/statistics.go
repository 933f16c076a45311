package compare

import (
	"math/rand/v2"
	"slices"
)

// Median returns the middle of values; see Quantile.
func Median(values []float64) float64 {
	return Quantile(values, 0.5)
}

// Quantile returns the value below which the share q of values lies, q from 0 to 1. Between
// neighbours it interpolates. It does not change values, which must not be empty.
func Quantile(values []float64, q float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), q)
}

func quantile(sorted []float64, q float64) float64 {
	place := q * float64(len(sorted)-1)
	low := int(place)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (place-float64(low))*(sorted[high]-sorted[low])
}

// Ratios returns, for each round, the value in of divided by the value in to. Both must have the same
// number of values.
func Ratios(of, to []float64) []float64 {
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = of[i] / to[i]
	}
	return ratios
}

// resamples is the number of draws of Interval.
const resamples = 20_000

// Interval returns the bounds of the 95 % confidence interval of the median, by the percentile bootstrap.
// Many times over, as many values are drawn with replacement. A fortieth of the medians of these draws is
// below the interval, and a fortieth above. The draws are the same in every run. Values must not be empty.
// Of fewer than six values, the interval is the whole range.
func Interval(values []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // drawn again in the same way
	sorted := slices.Sorted(slices.Values(values))
	medians, drawn := make([]float64, resamples), make([]int, len(sorted))
	for i := range medians {
		clear(drawn)
		for range sorted {
			drawn[random.IntN(len(sorted))]++
		}
		medians[i] = medianOfDrawn(sorted, drawn)
	}
	slices.Sort(medians)
	const tail = 0.025
	return quantile(medians, tail), quantile(medians, 1-tail)
}

// medianOfDrawn returns the median if each of the sorted values occurs as often as it was drawn.
func medianOfDrawn(sorted []float64, drawn []int) float64 {
	lower, upper := (len(sorted)-1)/2, len(sorted)/2 // positions of the two middle values
	below, at := 0, 0
	for ; below+drawn[at] <= lower; at++ {
		below += drawn[at]
	}
	first := sorted[at]
	for ; below+drawn[at] <= upper; at++ {
		below += drawn[at]
	}
	return (first + sorted[at]) / 2
}
