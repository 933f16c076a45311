//go:build leat_failpoints

package failpoint_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
)

func TestInject_DoesWhatIsArmed(t *testing.T) {
	t.Parallel()

	boom := errors.New("boom")
	released := make(chan struct{})
	close(released)
	canceled, cancel := context.WithCancel(t.Context())

	for name, c := range map[string]struct {
		action failpoint.Action
		want   error
	}{
		"error":         {failpoint.Error(boom), boom},
		"default error": {failpoint.Error(nil), failpoint.ErrInjected},
		"pause":         {failpoint.Pause(released), nil},
		"cancel":        {failpoint.Cancel(cancel), nil},
		"call":          {failpoint.Call(func(context.Context) error { return boom }), boom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r failpoint.Registry
			require.NoError(t, r.Enable(point, c.action))
			require.ErrorIs(t, failpoint.Inject(failpoint.With(t.Context(), &r), point), c.want)
			require.Equal(t, 1, r.Hits(point))
		})
	}
	t.Cleanup(func() { require.Error(t, canceled.Err(), "the action has cancelled the context") })
}

func TestInject_Panics(t *testing.T) {
	t.Parallel()

	var r failpoint.Registry
	require.NoError(t, r.Enable(point, failpoint.Panic()))
	require.PanicsWithValue(t, "failpoint: "+string(point), func() {
		_ = failpoint.Inject(failpoint.With(t.Context(), &r), point)
	})
}

func TestInject_PauseEndsWithTheContext(t *testing.T) {
	t.Parallel()

	var r failpoint.Registry
	require.NoError(t, r.Enable(point, failpoint.Pause(nil)))
	ctx, cancel := context.WithCancel(failpoint.With(t.Context(), &r))
	result := make(chan error, 1)
	go func() { result <- failpoint.Inject(ctx, point) }()
	<-r.Reached(point, 1)
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
}

func TestInject_RegistriesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()

	var armed, other failpoint.Registry
	require.NoError(t, armed.Enable(point, failpoint.Error(nil)))
	require.NoError(t, failpoint.Inject(failpoint.With(t.Context(), &other), point))
	require.NoError(t, failpoint.Inject(t.Context(), point))
	require.Error(t, failpoint.Inject(failpoint.With(t.Context(), &armed), point))
	require.Equal(t, 1, armed.Hits(point))
}

func TestInject_AtAHit(t *testing.T) {
	t.Parallel()

	var r failpoint.Registry
	require.NoError(t, r.EnableAt(point, 2, failpoint.Error(nil)))
	ctx := failpoint.With(t.Context(), &r)
	require.NoError(t, failpoint.Inject(ctx, point))
	require.Error(t, failpoint.Inject(ctx, point))
	require.NoError(t, failpoint.Inject(ctx, point))

	require.NoError(t, r.Enable(point, failpoint.Error(nil)))
	require.Error(t, failpoint.Inject(ctx, point))
	r.Disable(point)
	require.NoError(t, failpoint.Inject(ctx, point))
	require.Equal(t, 5, r.Hits(point))
	<-r.Reached(point, 5)
}

func TestInject_RefusesUnknownNames(t *testing.T) {
	t.Parallel()

	require.ErrorIs(t, failpoint.Inject(t.Context(), "relay/no_such_point"), failpoint.ErrUnknownName)
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
	child.Env = append(os.Environ(), envChild+"=1", failpoint.EnvPoints+"="+string(point)+"=exit@3")
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", output)
	require.Equal(t, failpoint.ExitStatus, exit.ExitCode(), "%s", output)
}
