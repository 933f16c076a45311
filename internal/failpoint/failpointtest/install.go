package failpointtest

import (
	"context"
	"os"

	"github.com/leat-go/leat/internal/failpoint"
)

//nolint:gochecknoinits // a process that a test starts must pass its first point armed
func init() {
	if os.Getenv(EnvPoints) != "" {
		Install()
	}
}

// Install makes every point of this program check whether it is armed. [With] installs as well, and so does
// a program that is started with [EnvPoints] in its environment.
func Install() { failpoint.Install(inject) }

// inject performs the action that is armed at the point, in the registry of the context or else in
// that of the process. It returns nil if nothing is armed, and an error that wraps [ErrUnknownName]
// for a name that is not in the list.
func inject(ctx context.Context, name failpoint.Name) error {
	if r, ok := ctx.Value(contextKey{}).(*Registry); ok {
		return r.reach(ctx, name)
	}
	process, err := processRegistry()
	if err != nil {
		return err
	}

	return process.reach(ctx, name)
}
