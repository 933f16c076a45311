package inbox

import (
	"context"
	"errors"
)

// ShouldPoison says whether err, which Process returned, speaks against the
// message. It is the filter for a poison queue outside the inbox:
//
//	middleware.PoisonQueueWithFilter(pub, "poison", inbox.ShouldPoison)
//
// It returns false for ErrBusy and ErrCommitUnknown, since the message may be
// about to take effect or have done so; for a context that was cancelled, as
// when a router closes; and for nil.
func ShouldPoison(err error) bool {
	switch {
	case err == nil, errors.Is(err, ErrBusy), errors.Is(err, ErrCommitUnknown), errors.Is(err, context.Canceled):
		return false
	default:
		return true
	}
}
