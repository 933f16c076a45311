package driver

import (
	"context"
	"errors"
)

type rereadKey struct{}

// WithReread returns a child of ctx that carries reread, for a subscriber that delivers
// Positions. An inbox calls it, with the cause, if an earlier message of the partition was not
// processed (ErrGap), or if it does not remember the partition any more (ErrNotAssigned). The
// session is then ahead of the database, as after a failover that has lost commits, and no
// redelivery of the message will fix that. The subscriber then ends the session and continues at
// the offset that Assigned returns. Reread must return at once, and can be called any number of
// times.
func WithReread(ctx context.Context, reread func(cause error)) context.Context {
	return context.WithValue(ctx, rereadKey{}, reread)
}

// Reread calls the function set by WithReread, if err shows that the session is ahead of the
// database.
func Reread(ctx context.Context, err error) {
	if !errors.Is(err, ErrGap) && !errors.Is(err, ErrNotAssigned) {
		return
	}
	if f, ok := ctx.Value(rereadKey{}).(func(cause error)); ok {
		f(err)
	}
}
