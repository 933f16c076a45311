package failpointtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const point = failpoint.RelayAfterFetch

func TestInject_NothingArmedReturnsNil(t *testing.T) {
	t.Parallel()

	require.NoError(t, failpoint.Inject(t.Context(), point))
	require.NoError(t, failpoint.Inject(failpointtest.With(t.Context(), &failpointtest.Registry{}), point))
}

func TestRegistry_RefusesUnknownNamesAndHits(t *testing.T) {
	t.Parallel()

	var r failpointtest.Registry
	require.ErrorIs(t, r.Enable("relay/no_such_point", failpointtest.Panic()), failpointtest.ErrUnknownName)
	require.Error(t, r.EnableAt(point, 0, failpointtest.Panic()))
}

func TestParse_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"relay/after_fetch", "relay/after_fetch=explode", "relay/after_fetch=exit@soon",
		"relay/after_fetch=exit@0", "relay/no_such_point=error",
	} {
		_, err := failpointtest.Parse(text)
		require.ErrorIs(t, err, failpointtest.ErrBadPoints, text)
	}
	_, err := failpointtest.Parse("relay/after_fetch=exit@3,relay/before_renew=error,")
	require.NoError(t, err)
}

func TestInject_DoesWhatIsArmed(t *testing.T) {
	t.Parallel()

	boom := errors.New("boom")
	released := make(chan struct{})
	close(released)
	canceled, cancel := context.WithCancel(t.Context())

	for name, c := range map[string]struct {
		action failpointtest.Action
		want   error
	}{
		"error":         {failpointtest.Error(boom), boom},
		"default error": {failpointtest.Error(nil), failpointtest.ErrInjected},
		"pause":         {failpointtest.Pause(released), nil},
		"cancel":        {failpointtest.Cancel(cancel), nil},
		"call":          {failpointtest.Call(func(context.Context) error { return boom }), boom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r failpointtest.Registry
			require.NoError(t, r.Enable(point, c.action))
			require.ErrorIs(t, failpoint.Inject(failpointtest.With(t.Context(), &r), point), c.want)
			require.Equal(t, 1, r.Hits(point))
		})
	}
	t.Cleanup(func() { require.Error(t, canceled.Err(), "the action has cancelled the context") })
}

func TestInject_Panics(t *testing.T) {
	t.Parallel()

	var r failpointtest.Registry
	require.NoError(t, r.Enable(point, failpointtest.Panic()))
	require.PanicsWithValue(t, "failpoint: "+string(point), func() {
		_ = failpoint.Inject(failpointtest.With(t.Context(), &r), point)
	})
}

func TestInject_PauseEndsWithTheContext(t *testing.T) {
	t.Parallel()

	var r failpointtest.Registry
	require.NoError(t, r.Enable(point, failpointtest.Pause(nil)))
	ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), &r))
	result := make(chan error, 1)
	go func() { result <- failpoint.Inject(ctx, point) }()
	<-r.Reached(point, 1)
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
}

func TestInject_RegistriesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()

	var armed, other failpointtest.Registry
	require.NoError(t, armed.Enable(point, failpointtest.Error(nil)))
	require.NoError(t, failpoint.Inject(failpointtest.With(t.Context(), &other), point))
	require.NoError(t, failpoint.Inject(t.Context(), point))
	require.Error(t, failpoint.Inject(failpointtest.With(t.Context(), &armed), point))
	require.Equal(t, 1, armed.Hits(point))
}

func TestInject_AtAHit(t *testing.T) {
	t.Parallel()

	var r failpointtest.Registry
	require.NoError(t, r.EnableAt(point, 2, failpointtest.Error(nil)))
	ctx := failpointtest.With(t.Context(), &r)
	require.NoError(t, failpoint.Inject(ctx, point))
	require.Error(t, failpoint.Inject(ctx, point))
	require.NoError(t, failpoint.Inject(ctx, point))

	require.NoError(t, r.Enable(point, failpointtest.Error(nil)))
	require.Error(t, failpoint.Inject(ctx, point))
	r.Disable(point)
	require.NoError(t, failpoint.Inject(ctx, point))
	require.Equal(t, 5, r.Hits(point))
	<-r.Reached(point, 5)
}

func TestInject_RefusesUnknownNames(t *testing.T) {
	t.Parallel()

	failpointtest.Install()
	require.ErrorIs(t, failpoint.Inject(t.Context(), "relay/no_such_point"), failpointtest.ErrUnknownName)
}

// envChild makes this test binary the process that a point ends.
const envChild = "LEAT_FAILPOINT_CHILD"

func TestEnvironment_EndsAProcessAtTheGivenHit(t *testing.T) {
	t.Parallel()

	if os.Getenv(envChild) != "" {
		for range 3 {
			require.NoError(t, failpoint.Inject(context.Background(), point))
		}
		require.FailNow(t, "the third hit has not ended the process")
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), envChild+"=1", failpointtest.EnvPoints+"="+string(point)+"=exit@3")
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", output)
	require.Equal(t, failpointtest.ExitStatus, exit.ExitCode(), "%s", output)
}
