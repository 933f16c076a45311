// Package jitter makes waits differ by chance, so that those who wait alike do not
// march in step.
package jitter

import (
	"math"
	"time"
)

// EnvSource set to [Clock] makes every wait a function of the time, for simulations in
// virtual time that must come out the same again. Only programs that are built with
// the tag leat_failpoints read it.
const (
	EnvSource = "LEAT_JITTER"
	Clock     = "clock"
)

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
