// Package jitter randomizes waits, so that processes with equal waits do not run in step.
package jitter

import (
	"math"
	"math/rand/v2"
	"time"
)

//nolint:gochecknoglobals // one program, one source, one step
var (
	chance = rand.Float64
	phase  = rand.N(Tick) //nolint:gosec // spreads processes; not for secrets
)

// SetSource makes all waits of this program take their randomness, a number in [0, 1), from source,
// which is called concurrently. Only the simulation calls it, before main begins: its waits must be
// reproducible.
func SetSource(source func() float64) { chance, phase = source, 0 }

// Around returns d, plus or minus a random share of at most part, 0 to 1.
func Around(d time.Duration, part float64) time.Duration {
	f := float64(d) * (1 - part + 2*part*chance())
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}

// Below returns d, less a random share of at most part, 0 to 1.
func Below(d time.Duration, part float64) time.Duration {
	return d - time.Duration(chance()*part*float64(d))
}

// Tick is the distance between the ends of waits that Together has shortened, in one process.
const Tick = 100 * time.Millisecond

// Together returns d less up to a Tick, so that idle loops in one process wake at the same moments,
// which differ between processes. With many outboxes, most of the processor time went into waking,
// not into the work after it. A d below two Ticks stays as it is.
func Together(d time.Duration, now time.Time) time.Duration {
	if d < 2*Tick {
		return d
	}
	return d - time.Duration(now.Add(d+phase).UnixNano()%int64(Tick))
}
