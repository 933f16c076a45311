package admin

import (
	"errors"

	common "github.com/leat-go/leat/outbox/admin"
)

// Errors of requests. Nothing was changed. The first two are those of an outbox, too.
var (
	// ErrInvalidRequest is returned for a request that is incomplete or contradicts
	// itself. The text names the field.
	ErrInvalidRequest = common.ErrInvalidRequest

	// ErrNotParked is returned by Redrive, SkipHead and Drop if nothing of the key
	// or id that was asked for is parked.
	ErrNotParked = common.ErrNotParked

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop if what was asked
	// for is redriven: it may be running just now, so nobody can drop it.
	ErrBeingRetried = errors.New("leat: is being retried")

	// ErrUnknownConsumer is returned by what looks at a consumer, or changes what is
	// stored of it, if the inbox has never had a message for one of that name. The
	// text has the name, which is not registered.
	ErrUnknownConsumer = errors.New("leat: the inbox knows no such consumer")
)
