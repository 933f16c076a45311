package jitter_test

import (
	"math"
	"math/rand/v2"
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

func TestTogether(t *testing.T) {
	t.Parallel()
	now, moments := time.Now(), map[int64]bool{}
	for range 1000 {
		d := 2*jitter.Tick + rand.N(time.Second)
		got := jitter.Together(d, now)
		require.LessOrEqual(t, got, d)
		require.Greater(t, got, d-jitter.Tick)
		moments[now.Add(got).UnixNano()%int64(jitter.Tick)] = true
	}
	require.Len(t, moments, 1, "all waits end at one step")
	require.Equal(t, 2*jitter.Tick-1, jitter.Together(2*jitter.Tick-1, now))
}
