//go:build !leat_failpoints

package jitter

import "math/rand/v2"

// chance returns a number in [0, 1).
func chance() float64 {
	return rand.Float64() //nolint:gosec // jitter is no secret
}
