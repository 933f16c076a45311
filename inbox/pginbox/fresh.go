package pginbox

import "sync/atomic"

// doubtFor is how many claims look first, after one that took its messages for new and
// found one that was not.
const doubtFor = 100

// fresh tells whether to take messages for new. That is the cheaper way if they are, and
// costs a second claim and a line in the server's log if they are not. Duplicates come in
// swarms, so that one in a hundred claims at most is in vain. It is safe for concurrent use.
type fresh struct {
	doubted atomic.Int64 // claims that are still to look first
}

// expected reports whether to take the next messages for new, and counts down.
func (f *fresh) expected() bool {
	return f.doubted.Load() <= 0 || f.doubted.Add(-1) < 0
}

// doubt makes the next claims look first.
func (f *fresh) doubt() {
	f.doubted.Store(doubtFor)
}
