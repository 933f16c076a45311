package failpoint_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/failpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const point = failpoint.RelayAfterFetch

func TestInject_NothingArmedReturnsNil(t *testing.T) {
	t.Parallel()

	require.NoError(t, failpoint.Inject(t.Context(), point))
	require.NoError(t, failpoint.Inject(failpoint.With(t.Context(), &failpoint.Registry{}), point))
}

func TestRegistry_RefusesUnknownNamesAndHits(t *testing.T) {
	t.Parallel()

	var r failpoint.Registry
	require.ErrorIs(t, r.Enable("relay/no_such_point", failpoint.Panic()), failpoint.ErrUnknownName)
	require.Error(t, r.EnableAt(point, 0, failpoint.Panic()))
}

func TestParse_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"relay/after_fetch", "relay/after_fetch=explode", "relay/after_fetch=exit@soon",
		"relay/after_fetch=exit@0", "relay/no_such_point=error",
	} {
		_, err := failpoint.Parse(text)
		require.ErrorIs(t, err, failpoint.ErrBadPoints, text)
	}
	_, err := failpoint.Parse("relay/after_fetch=exit@3,relay/before_renew=error,")
	require.NoError(t, err)
}

func TestInject_IsInlinedAwayWithoutTheTag(t *testing.T) {
	t.Parallel()

	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "can inline Inject")
}
