package sim_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeds returns how many runs a test makes: LEAT_SIM_SEEDS, or usual.
func seeds(t *testing.T, usual int) uint64 {
	t.Helper()
	n := usual
	if text := os.Getenv("LEAT_SIM_SEEDS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return uint64(max(n, 1))
}
