package catalogue_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/model/catalogue"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases_EveryModelHasControls: a model with fewer than three forbidden variants might be blind.
func TestCases_EveryModelHasControls(t *testing.T) {
	t.Parallel()
	protocols, controls := map[string]int{}, map[string]int{}
	names := map[string]bool{}
	for _, c := range catalogue.Cases() {
		require.False(t, names[c.Name()], "%s is listed twice", c.Name())
		names[c.Name()] = true
		if c.Forbidden() {
			controls[c.Model]++
		} else {
			protocols[c.Model]++
		}
	}
	require.Len(t, protocols, 6)
	for name := range protocols {
		require.GreaterOrEqual(t, controls[name], 3, name)
	}
}

// TestCases_ThePageListsNothingElse: the page has one line for each case. The models' own tests check that
// their lines are there.
func TestCases_ThePageListsNothingElse(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/internals/models.md")
	require.NoError(t, err)
	lines := 0
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") {
			lines++
		}
	}
	require.Equal(t, len(catalogue.Cases())+1, lines, "the header and a line a case")
}
