package failpointtest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/leat-go/leat/internal/failpoint"
)

// ErrInjected is the error of an armed point that was not given another one.
var ErrInjected = errors.New("failpoint: injected")

// Action is what happens at a point. Make one with [Error], [Panic], [Exit],
// [Pause], [Cancel] or [Call].
type Action struct {
	run func(ctx context.Context, name failpoint.Name) error
}

// Error makes the point return err, or [ErrInjected] if err is nil.
func Error(err error) Action {
	if err == nil {
		err = ErrInjected
	}

	return Action{run: func(_ context.Context, name failpoint.Name) error { return fmt.Errorf("at %s: %w", name, err) }}
}

// Panic makes the point panic.
func Panic() Action {
	return Action{run: func(_ context.Context, name failpoint.Name) error { panic("failpoint: " + string(name)) }}
}

// Exit ends the process with a status, at once and without a cleanup.
func Exit(status int) Action {
	return Action{run: func(context.Context, failpoint.Name) error { os.Exit(status); return nil }}
}

// Pause makes the point wait until released is closed; it then returns nil. If
// the context ends first, the point returns its error.
func Pause(released <-chan struct{}) Action {
	return Action{run: func(ctx context.Context, _ failpoint.Name) error {
		select {
		case <-released:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Cancel calls cancel, which is expected to end the point's context, and goes on.
func Cancel(cancel context.CancelFunc) Action {
	return Action{run: func(context.Context, failpoint.Name) error { cancel(); return nil }}
}

// Call makes the point return what f does.
func Call(f func(ctx context.Context) error) Action {
	return Action{run: func(ctx context.Context, _ failpoint.Name) error { return f(ctx) }}
}
