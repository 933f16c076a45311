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
