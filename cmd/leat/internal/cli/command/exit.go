package command

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

// Exit statuses of commands.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	exitNothing     = 3
	exitRefused     = 4
	exitFindings    = 5
	exitUnknown     = 6
	exitInterrupted = 130
)

var (
	// ErrNothing is wrapped if the requested thing does not exist.
	ErrNothing = errors.New("nothing found")
	// ErrFindings is returned if the command has printed problems.
	ErrFindings = errors.New("findings")
	// ErrUnknown is returned if the command has printed checks that it could not complete.
	ErrUnknown = errors.New("not known")
)

// UsageError is an error in the arguments of a command.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usage returns the error of a flag or variable and its value.
func Usage(name, value, must string) error {
	return UsageError{Err: fmt.Errorf("%s %q: %s", name, value, must)}
}

// Status prints err, and returns the exit status for it.
func Status(ctx context.Context, stderr io.Writer, err error) int {
	code := exitStatus(ctx, err)
	switch {
	case code == ExitDone, errors.Is(err, ErrFindings), errors.Is(err, ErrUnknown):
	case code == exitInterrupted:
		_, _ = fmt.Fprintln(stderr, "leat: interrupted")
	default:
		text := strings.TrimPrefix(settings.InFile(settings.Redact(err.Error())), "leat: ")
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
		return ExitDone
	}
	if _, ok := errors.AsType[UsageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*settings.InvalidError](err); ok {
		return ExitUsage
	}
	switch {
	case is(ErrFindings):
		return exitFindings
	case is(ErrUnknown):
		return exitUnknown
	case ctx.Err() != nil && is(context.Canceled):
		return exitInterrupted
	case is(ErrNothing, admin.ErrNotParked, admin.ErrNoSuchGroup, inboxadmin.ErrUnknownConsumer):
		return exitNothing
	case is(driver.ErrLeaseHeld, admin.ErrGroupActive, inboxadmin.ErrBeingRetried, admin.ErrNotFirst, inboxdriver.ErrBusy, ErrBusy, ErrMoved, ErrMembers, ask.ErrDeclined):
		return exitRefused
	case is(outbox.ErrInvalidConfig, admin.ErrInvalidRequest, ask.ErrNoTerminal):
		return ExitUsage
	default:
		return ExitFailed
	}
}

// ErrBusy is returned if a round could not do all of its work.
var ErrBusy = errors.New("producers held the log all the time, so that ranges are as they were: try again")

// ErrMembers is returned if a consumer group is in use.
var ErrMembers = errors.New("the group is in use")

// ErrMoved is returned if the first record of a key is not the one that the operator was shown.
var ErrMoved = errors.New("the key has another first record by now")
