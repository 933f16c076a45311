//go:build leat_failpoints

package failpoint

import "context"

// Enabled reports whether this program was built with failure points.
const Enabled = true

// Inject does what is armed at the point, in the registry of the context and else
// in that of the process. It returns nil when nothing is armed, and an error that
// wraps [ErrUnknownName] for a name that is not in the list.
func Inject(ctx context.Context, name Name) error {
	if r, ok := ctx.Value(contextKey{}).(*Registry); ok {
		return r.reach(ctx, name)
	}
	process, err := processRegistry()
	if err != nil {
		return err
	}

	return process.reach(ctx, name)
}
