package testenv_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestPromtool_Runs: it is the program that it is taken for.
//
//leat:level 4
func TestPromtool_Runs(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), testenv.Promtool(t), "--version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "promtool, version")
}
