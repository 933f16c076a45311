// Package wait waits for a duration, and no longer than the caller's context.
package wait

import (
	"context"
	"time"
)

// For returns nil after d, which may be 0 or less, or the context's cause as soon as ctx has ended.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Full is For, and reports whether it has waited for all of d.
func Full(ctx context.Context, d time.Duration) bool {
	return For(ctx, d) == nil
}
