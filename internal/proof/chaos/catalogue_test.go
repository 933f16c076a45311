package chaos

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// TestCatalogue_StrikesEveryFailurePoint: no point is missing, and there are enough.
func TestCatalogue_StrikesEveryFailurePoint(t *testing.T) {
	t.Parallel()
	points := map[string]bool{}
	for _, role := range []string{roles.Bank, roles.Relay, roles.Ledger, roles.Exact, roles.Notifier} {
		seen := map[deed]bool{}
		for _, d := range deedsOf(role, roles.Postgres) {
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

// TestCatalogue_HasEveryKindOfFailure: the catalogue has every kind of failure that a failure point can
// have, and on every side the kinds that are possible everywhere.
func TestCatalogue_HasEveryKindOfFailure(t *testing.T) {
	t.Parallel()
	all, sides := map[string]bool{}, map[string]map[string]bool{}
	for _, role := range []string{roles.Bank, roles.Relay, roles.Ledger, roles.Exact, roles.Notifier} {
		for _, d := range deedsOf(role, roles.Postgres) {
			if !slices.Contains(failpoint.Names(), failpoint.Name(d.point)) {
				continue
			}
			side, _, _ := strings.Cut(d.point, "/")
			if sides[side] == nil {
				sides[side] = map[string]bool{}
			}
			all[d.kind], sides[side][d.kind] = true, true
		}
	}
	for _, kind := range []string{roles.KindError, roles.KindPanic, roles.KindExit, roles.KindPause, roles.KindCancel, roles.KindCut} {
		require.Containsf(t, all, kind, "nobody strikes with %s", kind)
	}
	require.Len(t, sides, 4)
	for side, kinds := range sides {
		for _, kind := range []string{roles.KindError, roles.KindPanic, roles.KindExit, roles.KindCancel} {
			require.Containsf(t, kinds, kind, "nobody strikes the %s with %s", side, kind)
		}
	}
}
