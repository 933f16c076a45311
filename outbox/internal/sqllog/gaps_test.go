package sqllog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachOldGapHasItsTurn: no gap can be closed. Each is tried once a pass all the same,
// and passes are gapsPause apart.
func TestEachOldGapHasItsTurn(t *testing.T) {
	t.Parallel()
	var gaps []Span
	for n := int64(1); n <= 99; n++ {
		gaps = append(gaps, Span{2 * n, 2 * n})
	}
	gaps[50] = Span{102, 102 + widestGap}
	for n := 51; n < len(gaps); n++ {
		gaps[n].From, gaps[n].To = gaps[n].From+widestGap, gaps[n].To+widestGap
	}
	var a aging
	now := time.Now()
	last := gaps[97].To // the last one is of the time to come
	require.Empty(t, a.pick(now, gaps, last), "none is old")
	now = now.Add(gapAge)

	tried := map[int64]int{}
	pass := func() {
		for range 7 {
			picked := a.pick(now, gaps, last)
			require.LessOrEqual(t, len(picked), gapsAtOnce)
			for _, g := range picked {
				tried[g.From]++
			}
		}
	}
	pass()
	pass() // none: it is too early
	for i, g := range gaps {
		want := 1
		if i == 50 || i == 98 { // too wide, and young
			want = 0
		}
		require.Equal(t, want, tried[g.From], "gap %v", g)
	}
	now = now.Add(gapsPause)
	pass()
	require.Equal(t, 2, tried[gaps[0].From])
	require.Empty(t, a.pick(now.Add(gapsPause), gaps[:manyGaps], last), "they are few")
}

// TestAReadClosesNoMoreThanItsShare: of numbers, and the rest has its turn in the next one.
func TestAReadClosesNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	var gaps []Span
	for n := range int64(manyGaps + 1) {
		gaps = append(gaps, Span{1000 * n, 1000*n + 399})
	}
	var a aging
	now := time.Now()
	require.Empty(t, a.pick(now, gaps, 1_000_000))
	now = now.Add(gapAge)
	require.Equal(t, gaps[:2], a.pick(now, gaps, 1_000_000))
	require.Equal(t, gaps[2:4], a.pick(now, gaps, 1_000_000))
}

// TestAStormIsClosedSoon: its gaps would be as many as come in gapAge.
func TestAStormIsClosedSoon(t *testing.T) {
	t.Parallel()
	var gaps []Span
	for n := range int64(stormGaps + 1) {
		gaps = append(gaps, Span{2*n + 2, 2*n + 2})
	}
	var a aging
	now := time.Now()
	require.Empty(t, a.pick(now, gaps, 1_000_000))
	require.Len(t, a.pick(now.Add(stormAge), gaps, 1_000_000), gapsAtOnce)
}

// TestCrowded: only gaps that a scan finds with fewer statements are looked through in one go.
func TestCrowded(t *testing.T) {
	t.Parallel()
	train := func(n, apart int64) (gaps []Span) {
		for i := range n {
			gaps = append(gaps, Span{apart * i, apart * i})
		}
		return gaps
	}
	require.True(t, crowded(train(crowd, 2)))
	require.False(t, crowded(train(crowd-1, 2)), "they are few")
	require.False(t, crowded(train(crowd, 2*crowdWidth)), "they lie apart")
	require.False(t, crowded(nil))
}
