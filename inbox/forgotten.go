package inbox

import "errors"

var (
	// ErrTooOld is returned for a message whose id is older than what the store
	// remembers for certain: it may have been processed and forgotten, or never been
	// seen. It was not run and must not be acknowledged; only people, or a policy that
	// they have chosen, can tell what it is.
	ErrTooOld = errors.New("leat: message is older than what the inbox remembers")

	// ErrTooNew is returned for a message whose id says that it was made further in the
	// future than clocks may differ. It was not run: the store would have to remember it
	// until then.
	ErrTooNew = errors.New("leat: message id is from the future")
)
