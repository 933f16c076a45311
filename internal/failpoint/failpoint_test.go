package failpoint_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestInject_IsInlined: where nothing is armed, no function is called.
func TestInject_IsInlined(t *testing.T) {
	t.Parallel()

	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "can inline Inject")
}
