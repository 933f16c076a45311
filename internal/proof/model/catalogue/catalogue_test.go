package catalogue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/model/catalogue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases_EveryModelHasControls: a model without at least three forbidden variants
// might see nothing.
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
	require.Len(t, protocols, 7)
	for name := range protocols {
		require.GreaterOrEqual(t, controls[name], 3, name)
	}
}
