// Package jitter makes waits differ by chance, so that those who wait alike do not
// march in step.
package jitter

import (
	"math"
	"math/rand/v2"
	"time"
)

//nolint:gochecknoglobals // one program, one source
var chance = rand.Float64

// SetSource has all waits of this program take their chance, a number in [0, 1), from
// source, which is called concurrently. Only the simulation calls it, before main begins:
// its waits must come out the same again.
func SetSource(source func() float64) { chance = source }

// Around returns d, give or take as much as part of it, 0 to 1.
func Around(d time.Duration, part float64) time.Duration {
	f := float64(d) * (1 - part + 2*part*chance())
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}

// Below returns d less as much as part of it, 0 to 1.
func Below(d time.Duration, part float64) time.Duration {
	return d - time.Duration(chance()*part*float64(d))
}
