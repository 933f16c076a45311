package handbook_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// TestTiers: every package that others can import says how stable it is.
func TestTiers(t *testing.T) {
	t.Parallel()
	wrong, looked, err := handbook.Tiers(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
	require.Greater(t, looked, 30)
}

// TestTiers_ConvictsAPackage whose comment has another tier, or none.
func TestTiers_ConvictsAPackage(t *testing.T) {
	t.Parallel()
	find := func(dir, tier string) []string {
		wrong, _, err := handbook.Tiers(fstest.MapFS{
			"docs/versions.md": {Data: []byte("| *stable* | `box` | … |\n")},
			dir + "/box.go":    {Data: []byte("// Package box is a box.\n//\n// " + tier + "\npackage box\n")},
		})
		require.NoError(t, err)
		return wrong
	}
	const stable, young = "Stability: stable, see docs/versions.md.", "Stability: young, see docs/versions.md."
	require.Empty(t, find("box", stable))
	require.Empty(t, find("box/boxtest", young))
	require.Empty(t, find("internal/box", ""))
	require.Len(t, find("box", young), 1)
	require.Len(t, find("box/boxtest", stable), 1)
	require.Len(t, find("lid", ""), 1)
}
