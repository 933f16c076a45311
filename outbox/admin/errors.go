package admin

import "errors"

var (
	// ErrInvalidRequest is returned for a request that is incomplete or contradicts
	// itself: Actor or Reason is empty, nothing is selected, or in two ways. The text
	// names the field. Nothing was changed.
	ErrInvalidRequest = errors.New("leat: invalid request")

	// ErrNotParked is returned if the requested key or id is neither set aside nor dead. Nothing
	// was changed.
	ErrNotParked = errors.New("leat: not parked")

	// ErrNotFirst is returned if the record to skip is not the first one of its key. The text
	// names both. Nothing was changed.
	ErrNotFirst = errors.New("leat: not the first record of its key")

	// ErrNoSuchGroup is returned for a relay group that the outbox does not know.
	ErrNoSuchGroup = errors.New("leat: no such relay group")

	// ErrGroupActive is returned if a group cannot be removed because one of its relays is alive.
	// The text names it.
	ErrGroupActive = errors.New("leat: the relay group is active")
)
