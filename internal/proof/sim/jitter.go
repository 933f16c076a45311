package sim

import (
	"time"

	"github.com/leat-go/leat/internal/jitter"
)

//nolint:gochecknoinits // no wait may have begun by then
func init() {
	jitter.SetSource(func() float64 { return scatter(uint64(time.Now().UnixNano())) })
}

// scatter maps neighbouring numbers to numbers spread over [0, 1): the finalizer of SplitMix64.
func scatter(x uint64) float64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
