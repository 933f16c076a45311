package jitter_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/jitter"
)

// span returns the shortest and the longest of many waits.
func span(wait func() time.Duration) (least, most time.Duration) {
	least = math.MaxInt64
	for range 10_000 {
		d := wait()
		least, most = min(least, d), max(most, d)
	}
	return least, most
}

// TestAround uses all of the range on both sides, and no more.
func TestAround(t *testing.T) {
	t.Parallel()
	least, most := span(func() time.Duration { return jitter.Around(time.Second, 0.25) })
	require.GreaterOrEqual(t, least, 750*time.Millisecond)
	require.Less(t, least, 760*time.Millisecond)
	require.Greater(t, most, 1240*time.Millisecond)
	require.Less(t, most, 1250*time.Millisecond)
}

// TestBelow uses all of the range below, and no more.
func TestBelow(t *testing.T) {
	t.Parallel()
	least, most := span(func() time.Duration { return jitter.Below(time.Second, 0.25) })
	require.Greater(t, least, 750*time.Millisecond)
	require.Less(t, least, 760*time.Millisecond)
	require.Greater(t, most, 990*time.Millisecond)
	require.LessOrEqual(t, most, time.Second)
}

// TestAround_EndsAtTheLongest does not come out negative for want of bits.
func TestAround_EndsAtTheLongest(t *testing.T) {
	t.Parallel()
	least, _ := span(func() time.Duration { return jitter.Around(math.MaxInt64, 0.5) })
	require.Positive(t, least)
}

func TestNoPartLeavesTheWait(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, jitter.Around(time.Second, 0))
	require.Equal(t, time.Second, jitter.Below(time.Second, 0))
}
