package pginbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// TooOldPolicy is what happens to a message whose id is older than what the inbox
// remembers, so that it may have been processed or not.
type TooOldPolicy string

const (
	// TooOldPark refuses it with driver.ErrTooOld. It is not run, and is given up at once as
	// Config.OnFailure says: parked, dead-lettered, or, by default, not acknowledged.
	TooOldPark TooOldPolicy = "park"
	// TooOldProcess runs it without remembering it: it runs at least once, and again
	// each time that it is delivered.
	TooOldProcess TooOldPolicy = "process"
	// TooOldDrop acknowledges it as a duplicate without running it: it runs at most
	// once, and is lost if it never ran.
	TooOldDrop TooOldPolicy = "drop"
)

func (p TooOldPolicy) validate() error {
	switch p {
	case "", TooOldPark, TooOldProcess, TooOldDrop: // "" is the default
		return nil
	default:
		return outbox.ConfigError("TooOld", fmt.Sprintf("%q", string(p)), "must be park, process or drop")
	}
}

// policy decides what happens to messages at the edge of the inbox's memory.
type policy struct {
	alarms

	tooOld  TooOldPolicy
	observe bool
}

// observed lets a delivery run that the inbox would have suppressed, in a transaction without a
// record, and reports it. Claimed messages are recorded as usual. Errors that are unrelated to
// the message are returned.
func (p policy) observed(
	ctx context.Context, c claimer, id string, unit driver.Unit, status driver.Status, err error,
) (driver.Unit, driver.Status, error) {
	o := ObserveEvent{Consumer: p.consumer, ID: id}
	switch {
	case err == nil && status == driver.Claimed:
		return unit, status, nil
	case errors.Is(err, driver.ErrTooOld), errors.Is(err, driver.ErrTooNew):
		o.Would, o.Err = inbox.OutcomeFailed, err
	case err != nil:
		return nil, 0, err
	case status == driver.Duplicate:
		o.Would = inbox.OutcomeDuplicate
	default:
		o.Would = inbox.OutcomeBusy
	}
	p.log.LogAttrs(ctx, slog.LevelInfo, "inbox would have suppressed a delivery",
		slog.String("consumer", p.consumer), slog.String("message_id", id), slog.String("would", o.Would.String()))
	hooks.Call(ctx, p.log, p.hooks, func(h ObserveHook) { h.OnPginboxObserve(ctx, o) })
	return c.unrecorded(ctx, nil)
}
