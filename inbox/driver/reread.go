package driver

import (
	"context"
	"errors"
)

type rereadKey struct{}

// WithReread returns a child of ctx that carries reread, for a subscriber that
// delivers Positions. An inbox calls it, with the cause, if a message before the one that came was not
// processed, or if nothing is remembered of its partition any more (ErrGap,
// ErrNotAssigned): the session is ahead of the database, as after a
// failover that has lost commits, and no redelivery of the message will fix that.
// The subscriber then ends the session and reads on where Assigned says. Reread must
// return at once, and can be called any number of times.
func WithReread(ctx context.Context, reread func(cause error)) context.Context {
	return context.WithValue(ctx, rereadKey{}, reread)
}

// Reread calls what WithReread has set, if the session is ahead of the database by err.
func Reread(ctx context.Context, err error) {
	if !errors.Is(err, ErrGap) && !errors.Is(err, ErrNotAssigned) {
		return
	}
	if f, ok := ctx.Value(rereadKey{}).(func(cause error)); ok {
		f(err)
	}
}
