package sqllog

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

//leat:level 0
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// TestPositionIsTheSetOfNumbers compares a position with a plain set of what was read,
// whatever becomes visible when, and through its text.
func TestPositionIsTheSetOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const most = 40
		var p Position
		read := map[int64]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "pages") {
			picked := rapid.SliceOfNDistinct(rapid.Int64Range(1, most), 0, 8, rapid.ID[int64]).Draw(rt, "visible")
			page := slices.DeleteFunc(picked, func(n int64) bool { return read[n] })
			slices.Sort(page)
			before := EncodeGaps(p.Gaps)
			after := p.Seen(page)
			require.Equal(rt, before, EncodeGaps(p.Gaps), "the Position before stays as it is")
			p = after
			for _, n := range page {
				read[n] = true
			}
			again, err := ParsePosition(p.Last, EncodeGaps(p.Gaps))
			require.NoError(rt, err)
			low := int64(0)
			for n := int64(1); n <= most; n++ {
				require.Equal(rt, !read[n], again.Misses(n), "number %d of %v", n, p)
				if low == n-1 && read[n] {
					low = n
				}
			}
			require.Equal(rt, low, again.Low())
			cut := rapid.Int64Range(0, most).Draw(rt, "cut")
			for n := int64(1); n <= most; n++ {
				require.Equal(rt, n > cut && !read[n], p.From(cut).Misses(n), "from %d, number %d", cut, n)
				require.Equal(rt, n > cut || !read[n], p.UpTo(cut).Misses(n), "up to %d, number %d", cut, n)
			}
		}
	})
}

func TestParsePositionRefusesWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	for _, gaps := range []string{"x", "1", "1-", "-1", "2-1", "1-2,2-3", "3-4,1-2", "5-11", "1-2,", "1-2;3-4"} {
		_, err := ParsePosition(10, gaps)
		require.Error(t, err, gaps)
	}
}
