package sqlforward

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPosition_IsASetOfNumbers: whatever is seen in whichever order, the position knows it,
// also after it was stored.
func TestPosition_IsASetOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := position{last: rapid.Int64Range(0, 3).Draw(t, "start")}
		start := at.last
		seen := map[int64]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "pages") {
			numbers := rapid.SliceOfDistinct(rapid.Int64Range(start+1, 40), rapid.ID[int64]).Draw(t, "numbers")
			numbers = slices.DeleteFunc(numbers, func(n int64) bool { return seen[n] })
			slices.Sort(numbers)
			for _, n := range numbers {
				seen[n] = true
			}
			at = at.after(numbers, 7)
			stored, err := parse(at.last, string(encode(at.gaps)))
			require.NoError(t, err)
			require.Equal(t, at.last, stored.last)
			require.Len(t, stored.gaps, len(at.gaps))
			at = stored
			missing := map[int64]bool{}
			for _, g := range at.gaps {
				for n := g.from; n <= g.to; n++ {
					missing[n] = true
				}
			}
			for n := start + 1; n <= 40; n++ {
				require.Equal(t, seen[n], n <= at.last && !missing[n], "number %d of %v", n, at)
			}
		}
	})
}

func TestPosition_LowAndDead(t *testing.T) {
	t.Parallel()
	at := position{}.after([]int64{2, 5, 9}, 7)
	require.Equal(t, []gap{{1, 1, 7}, {3, 4, 7}, {6, 8, 7}}, at.gaps)
	require.EqualValues(t, 0, at.low())
	at = at.after([]int64{7}, 8).without([]gap{{1, 1, 7}, {6, 8, 7}})
	require.Equal(t, []gap{{3, 4, 7}, {6, 6, 7}, {8, 8, 7}}, at.gaps, "a gap that has changed is not dead")
	require.EqualValues(t, 2, at.low())
}

func TestParse_RefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "4-3@1", "1-2@1,2-3@1", "1-10@1", "1-2"} {
		_, err := parse(9, text)
		require.ErrorContains(t, err, "do not fit number 9", text)
	}
}
