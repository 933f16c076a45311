package pginbox

import (
	"math"
	"time"
)

// ErrNoRange is returned if a range is not there and could not be made.
var ErrNoRange = errNoRange

// LookFirst has batches and pipelines look for all their messages first, for ever, as if each
// might be a duplicate.
func (in *Inbox) LookFirst() { in.store.fresh.doubted.Store(math.MaxInt64) }

// Impatient shortens how long a claim waits for a connection, and how long a delivery has one
// before the pool is looked at.
func (in *Inbox) Impatient(wait, long time.Duration) {
	full := in.store.handle.Full()
	full.Wait, full.Long = wait, long
}
