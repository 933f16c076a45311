package chaos

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// TestCatalogue_StrikesEveryFailurePoint: none is forgotten, and there are enough.
func TestCatalogue_StrikesEveryFailurePoint(t *testing.T) {
	t.Parallel()
	points := map[string]bool{}
	for _, role := range []string{roles.Bank, roles.Relay, roles.Ledger, roles.Exact, roles.Notifier} {
		seen := map[deed]bool{}
		for _, d := range deedsOf(role) {
			require.Falsef(t, seen[d], "%s twice in %s", d, role)
			require.Positive(t, d.weight)
			seen[d], points[d.point] = true, true
		}
	}
	for _, name := range failpoint.Names() {
		require.Containsf(t, points, string(name), "nobody strikes %s", name)
	}
	require.Greater(t, len(points), 50)
}
