package jitter_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/jitter"
)

func TestDoubled(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{-1: 1, 0: 1, 1: 2, 2: 4, 3: 8, 4: 10, 5: 10, math.MaxInt: 10} {
		require.Equal(t, want, jitter.Doubled(1, 10, n), n)
	}
	require.Equal(t, time.Second, jitter.Doubled(time.Minute, time.Second, 0))
	require.Zero(t, jitter.Doubled(0, 0, math.MaxInt))
	require.Equal(t, time.Duration(math.MaxInt64), jitter.Doubled(time.Second, math.MaxInt64, 100))
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := jitter.Backoff{Min: time.Second, Max: 3 * time.Second}
	for range 2 {
		for _, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			d := b.Next()
			require.LessOrEqual(t, d, most)
			require.Greater(t, d, most/2-1)
		}
		b.Reset()
	}
}
