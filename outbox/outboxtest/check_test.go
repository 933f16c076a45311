package outboxtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/outboxtest"
)

// TestFeaturesRuleOut shows which checks are skipped for an adapter that promises less.
func TestFeaturesRuleOut(t *testing.T) {
	t.Parallel()
	whole := checkNames(outboxtest.Features{})
	require.NotContains(t, checkNames(outboxtest.Features{NoKeyOrder: true}), "O5_KeyOrderIsCommitOrder")
	require.NotContains(t, checkNames(outboxtest.Features{NoWakes: true}), "Relay_WakeReplacesPolling")
	require.Subset(t, whole, []string{"O5_KeyOrderIsCommitOrder", "Relay_WakeReplacesPolling"})
	require.Len(t, checkNames(outboxtest.Features{LazyAdvance: true}), len(whole), "judged less strictly, not spared")
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, name := range checkNames(outboxtest.Features{}) {
		require.False(t, seen[name], name)
		seen[name] = true
		found, ok := outboxtest.Find(name)
		require.True(t, ok)
		require.Equal(t, name, found.Name)
	}
	_, ok := outboxtest.Find("O99_NoSuchCheck")
	require.False(t, ok)
}

func checkNames(f outboxtest.Features) []string {
	var out []string
	for _, c := range append(outboxtest.Checks(f), outboxtest.RelayChecks(f)...) {
		out = append(out, c.Name)
	}
	return out
}
