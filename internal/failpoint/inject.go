package failpoint

import (
	"context"
	"sync/atomic"
)

// Hook performs the action that is armed at a point, and returns what [Inject] must return.
type Hook func(ctx context.Context, name Name) error

//nolint:gochecknoglobals // one program, one hook
var hook atomic.Pointer[Hook]

// Inject performs the action that is armed at the point, and returns nil if there is none. In a
// program without a hook, as users build it, it costs one load and one comparison.
func Inject(ctx context.Context, name Name) error {
	if hook.Load() == nil {
		return nil
	}

	return call(ctx, name)
}

// call is separate, so that [Inject] is small enough to be inlined.
//
//go:noinline
func call(ctx context.Context, name Name) error { return (*hook.Load())(ctx, name) }

// Install makes h the hook of this program. Only failpointtest calls it: a test of
// internal/handbook looks for others. It may be called concurrently with [Inject].
func Install(h Hook) { hook.Store(&h) }

// Installed reports whether this program has a hook.
func Installed() bool { return hook.Load() != nil }
