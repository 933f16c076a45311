package pginbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatements: each is there, and only above a floor none is for a pipeline.
func TestStatements(t *testing.T) {
	t.Parallel()
	s, err := newStatements(benchNames)
	require.NoError(t, err)
	for at := range places {
		require.Contains(t, s.claim[at], "INSERT INTO")
		require.Contains(t, s.claimBatch[at], "INSERT INTO")
		require.Equal(t, at == aboveFloor, s.claimOrFail[at] == "")
		require.Equal(t, at != plain, s.claim[at] != s.claim[plain])
	}
	require.NotEmpty(t, s.seen)
	require.NotEmpty(t, s.seenInRange)
	require.NotEmpty(t, s.claimNothing)
	require.NotEqual(t, s.mark, s.markInRange)
	c, err := newConsumer(nil, benchNames, "billing")
	require.NoError(t, err)
	require.NotEmpty(t, c.positions)
	require.NotEmpty(t, c.Lookup)
}
