package pginbox

import "math"

// LookFirst has batches and pipelines look for all their messages first, for ever, as if each
// might be a duplicate.
func (in *Inbox) LookFirst() { in.store.fresh.doubted.Store(math.MaxInt64) }
