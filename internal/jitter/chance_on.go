//go:build leat_failpoints

package jitter

import (
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

//nolint:gochecknoglobals // one process, one environment
var byClock = sync.OnceValue(func() bool { return os.Getenv(EnvSource) == Clock })

// chance returns a number in [0, 1).
func chance() float64 {
	if byClock() {
		return scatter(uint64(time.Now().UnixNano()))
	}
	return rand.Float64() //nolint:gosec // jitter is no secret
}

// scatter maps neighbouring numbers to ones all over [0, 1): the finalizer of
// SplitMix64.
func scatter(x uint64) float64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
