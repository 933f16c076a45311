package pginbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

// Observation is a delivery that an inbox with Config.Observe has let run, and would
// not have without.
type Observation struct {
	// Consumer and ID are the message.
	Consumer, ID string
	// Would is what the outcome would have been: OutcomeDuplicate, OutcomeBusy, or
	// OutcomeFailed for a message that is too old or from the future.
	Would inbox.Outcome
	// Err is driver.ErrTooOld or driver.ErrTooNew, or nil.
	Err error
}

// observed lets a delivery run that the inbox would have suppressed, in a transaction
// without a record, and reports it. Claimed messages are recorded as ever. An error
// that says nothing about the message stays one.
func (k keys) observed(
	ctx context.Context, c claimer, id string, unit driver.Unit, status driver.Status, err error,
) (driver.Unit, driver.Status, error) {
	o := Observation{Consumer: k.consumer, ID: id}
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
	k.log.LogAttrs(ctx, slog.LevelInfo, "inbox would have suppressed a delivery",
		slog.String("consumer", k.consumer), slog.String("message_id", id), slog.String("would", o.Would.String()))
	if k.onObserved != nil {
		k.onObserved(ctx, o)
	}
	return c.bare(ctx, nil)
}
