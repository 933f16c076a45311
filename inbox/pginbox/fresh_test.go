package pginbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFresh: a doubt lasts for a hundred claims, and the next one starts anew.
func TestFresh(t *testing.T) {
	t.Parallel()
	var f fresh
	for range 2 {
		require.True(t, f.expected())
		require.True(t, f.expected())
		f.doubt()
		for n := range doubtFor {
			require.False(t, f.expected(), n)
		}
	}
	require.True(t, f.expected())
}
