package stage

import (
	"context"
	"time"
)

const pollEvery = 10 * time.Millisecond

// Until waits until done says so, fails, or ctx ends.
func Until(ctx context.Context, done func(ctx context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits until c is closed or has something to receive.
func Wait[T any](ctx context.Context, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
