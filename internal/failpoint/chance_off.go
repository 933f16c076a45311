//go:build !leat_failpoints

package failpoint

import "math/rand/v2"

// Chance returns a number in [0, 1), by which waits are jittered.
func Chance() float64 {
	return rand.Float64() //nolint:gosec // jitter is no secret
}
