package sqloutbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachOldGapHasItsTurn: no gap can be closed. Each is tried once a pass all the same,
// and passes are gapsPause apart.
func TestEachOldGapHasItsTurn(t *testing.T) {
	t.Parallel()
	var gaps []span
	for n := int64(1); n <= 99; n++ {
		gaps = append(gaps, span{2 * n, 2 * n})
	}
	gaps[50] = span{102, 102 + widestGap}
	for n := 51; n < len(gaps); n++ {
		gaps[n].from, gaps[n].to = gaps[n].from+widestGap, gaps[n].to+widestGap
	}
	var a aging
	now := time.Now()
	last := gaps[97].to // the last one is of the time to come
	require.Empty(t, a.pick(now, gaps, last), "none is old")
	now = now.Add(gapAge)

	tried := map[int64]int{}
	pass := func() {
		for range 7 {
			picked := a.pick(now, gaps, last)
			require.LessOrEqual(t, len(picked), gapsAtOnce)
			for _, g := range picked {
				tried[g.from]++
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
		require.Equal(t, want, tried[g.from], "gap %v", g)
	}
	now = now.Add(gapsPause)
	pass()
	require.Equal(t, 2, tried[gaps[0].from])
	require.Empty(t, a.pick(now.Add(gapsPause), gaps[:manyGaps], last), "they are few")
}
