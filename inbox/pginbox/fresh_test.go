package pginbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFresh: a doubt lasts for a hundred claims, and twice as long if the next one comes as soon.
func TestFresh(t *testing.T) {
	t.Parallel()
	var f fresh
	doubt := func(after, span int) {
		t.Helper()
		for range after {
			require.True(t, f.expected())
		}
		f.doubt()
		f.doubt() // of another claim that was on its way
		for n := range span {
			require.False(t, f.expected(), n)
		}
	}
	doubt(1, doubtFor)
	doubt(doubtFor+1, doubtFor)
	for _, span := range []int{2, 4, 8, 16, 32, 64, 64} {
		doubt(1, span*doubtFor)
	}
	doubt(mostDoubt+1, doubtFor)
	require.True(t, f.expected())
}
