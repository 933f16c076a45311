package jitter

import "time"

// Doubled returns first, doubled n times, and no more than limit.
func Doubled(first, limit time.Duration, n int) time.Duration {
	for d := first; ; d *= 2 {
		switch {
		case n <= 0 || d == 0:
			return min(d, limit)
		case d >= limit/2:
			return limit
		}
		n--
	}
}

// Backoff is a wait that doubles from Min to Max with each call of Next, until Reset.
// It is not safe for concurrent use.
type Backoff struct {
	Min, Max time.Duration
	last     time.Duration
}

// Next returns how long to wait now: a random part of up to half is subtracted.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(b.last*2, b.Min), b.Max)
	return Below(b.last, 0.5)
}

// Reset makes the next wait Min again.
func (b *Backoff) Reset() {
	b.last = 0
}
