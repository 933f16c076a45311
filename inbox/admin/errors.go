package admin

import (
	"errors"

	common "github.com/leat-go/leat/outbox/admin"
)

// Errors of requests. Nothing was changed. The first two are also errors of an outbox.
var (
	// ErrInvalidRequest is returned for a request that is incomplete or contradicts
	// itself. The text names the field.
	ErrInvalidRequest = common.ErrInvalidRequest

	// ErrNotParked is returned by Redrive, SkipHead and Drop if no message with the given key or
	// id is parked.
	ErrNotParked = common.ErrNotParked

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop if a selected message is being
	// redriven: it may be running right now, so it cannot be dropped.
	ErrBeingRetried = errors.New("leat: is being retried")

	// ErrUnknownConsumer is returned by methods that read or change the data of a consumer, if
	// the inbox never had a message for a consumer of that name. The text contains the name,
	// which is not registered by the call.
	ErrUnknownConsumer = errors.New("leat: the inbox knows no such consumer")
)
