// Package admin is what operators ask of an inbox in a database, and what they get: who
// changes what and why, the parked messages, and the audit.
package admin

import "errors"

// Errors of requests. Nothing was changed.
var (
	// ErrInvalidRequest is returned for a request that is
	// incomplete or contradicts itself: Actor or Reason is empty, nothing is
	// selected, or in two ways. The text names the field. Nothing was changed.
	ErrInvalidRequest = errors.New("leat: invalid request")

	// ErrNotParked is returned by Redrive, SkipHead and Drop if nothing of the key
	// or id that was asked for is parked. Nothing was changed.
	ErrNotParked = errors.New("leat: not parked")

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop if what was asked
	// for is redriven: it may be running just now, so nobody can drop it. Nothing was
	// changed.
	ErrBeingRetried = errors.New("leat: is being retried")

	// ErrUnknownConsumer is returned by what looks at a consumer, or changes what is
	// stored of it, if the inbox has never had a message for one of that name. The
	// text has the name, which is not registered.
	ErrUnknownConsumer = errors.New("leat: the inbox knows no such consumer")
)
