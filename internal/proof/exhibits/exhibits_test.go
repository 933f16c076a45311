package exhibits_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed/testbedtest"
)

//leat:level 4
func TestMain(m *testing.M) { testbedtest.Main(m) }

// TestExhibits runs all exhibits one after the other: a transaction that one of them holds open affects
// the others, which is what that exhibit is about.
func TestExhibits(t *testing.T) {
	t.Parallel()
	bed := testbedtest.New(t)
	var findings []exhibit.Finding
	for _, e := range scenarios.All() {
		found, err := e.Play(t.Context(), bed)
		require.NoError(t, err)
		findings = append(findings, found...)
	}
	require.Len(t, findings, 21)
	for _, f := range findings {
		require.NoError(t, f.Err())
		require.NotZero(t, f.Incumbent)
		require.Zero(t, f.Leat)
	}
	require.NoError(t, exhibit.Table(io.Discard, findings))
}
