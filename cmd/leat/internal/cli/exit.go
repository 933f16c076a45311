package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// What a command exits with.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNothing     = 3
	exitRefused     = 4
	exitFindings    = 5
	exitInterrupted = 130
)

var (
	// errNothing is wrapped if what was asked for is not there.
	errNothing = errors.New("nothing found")
	// errFindings is returned if the command has printed what it found wrong.
	errFindings = errors.New("findings")
)

// usageError is something wrong with what was asked for.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage returns the error of a flag or variable and its value.
func usage(name, value, must string) error {
	return usageError{fmt.Errorf("%s %q: %s", name, value, must)}
}

// status tells err, and returns what it exits with.
func status(ctx context.Context, stderr io.Writer, err error) int {
	code := exitStatus(ctx, err)
	switch {
	case code == exitDone, errors.Is(err, errFindings):
	case code == exitInterrupted:
		_, _ = fmt.Fprintln(stderr, "leat: interrupted")
	default:
		text := strings.TrimPrefix(settings.Redact(err.Error()), "leat: ")
		if errors.Is(err, outbox.ErrNotMigrated) {
			text += " (leat migrate status, leat migrate up)"
		}
		_, _ = fmt.Fprintf(stderr, "leat: %s\n", text)
	}
	return code
}

func exitStatus(ctx context.Context, err error) int {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*settings.InvalidError](err); ok {
		return exitUsage
	}
	switch {
	case is(errFindings):
		return exitFindings
	case ctx.Err() != nil && is(context.Canceled):
		return exitInterrupted
	case is(errNothing, admin.ErrNotParked, admin.ErrNoSuchGroup, inboxadmin.ErrUnknownConsumer):
		return exitNothing
	case is(driver.ErrLeaseHeld, admin.ErrGroupActive, admin.ErrBeingRetried, admin.ErrNotFirst, inboxdriver.ErrBusy, errBusy, errMoved, ask.ErrDeclined):
		return exitRefused
	case is(outbox.ErrInvalidConfig, admin.ErrInvalidRequest, ask.ErrNoTerminal):
		return exitUsage
	default:
		return exitFailed
	}
}
