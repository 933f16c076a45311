package inbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
)

// ShouldPoison reports whether err, which Process returned, is the message's fault. It is the
// filter for a poison queue outside the inbox:
//
//	middleware.PoisonQueueWithFilter(pub, "poison", inbox.ShouldPoison)
//
// Config.OnFailure uses it as well: if it returns false, no attempt is counted.
//
// It returns false for ErrBusy and ErrCommitUnknown, since the message may be about to take
// effect or have done so; for ErrNotClaimed, since an outage of the database is not the message's
// fault; for ErrConflict, ErrNotGivenUp and ErrTwoHandlers, for the same reason; for a cancelled
// context, as when a router closes; for errors marked by Outage, by the handler or by Process;
// and for nil. If a handler fails because its connection broke, the error looks like a failure of
// the message: mark it by Outage if no message can cause it. For ErrTooOld and ErrTooNew it
// returns true.
func ShouldPoison(err error) bool {
	switch {
	case errors.Is(err, driver.ErrTooOld), errors.Is(err, driver.ErrTooNew):
		return true
	case err == nil, errors.Is(err, ErrBusy), errors.Is(err, ErrCommitUnknown), errors.Is(err, ErrNotClaimed),
		errors.Is(err, ErrConflict), errors.Is(err, ErrNotGivenUp), errors.Is(err, ErrTwoHandlers), errors.Is(err, context.Canceled),
		isOutage(err):
		return false
	default:
		return true
	}
}
