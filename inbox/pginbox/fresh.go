package pginbox

import (
	"sync"
	"sync/atomic"
)

// A claim that took its messages for new, and found one that was not, makes the next doubtFor claims look first. If one
// as soon after that finds such a message again it is twice as many, up to mostDoubt.
const (
	doubtFor  = 100
	mostDoubt = 64 * doubtFor
)

// fresh tells whether to take messages for new. That is the cheaper way if they are, and
// costs a second claim and a line in the server's log if they are not. Duplicates come in
// swarms, so that a swarm costs little. It is safe for concurrent use.
type fresh struct {
	doubted atomic.Int64 // claims that are still to look first
	trusted atomic.Int64 // claims that have not looked first, since the last doubt

	mu   sync.Mutex
	span int64 // of the last doubt
}

// expected reports whether to take the next messages for new, and counts.
func (f *fresh) expected() bool {
	if f.doubted.Load() > 0 && f.doubted.Add(-1) >= 0 {
		return false
	}
	f.trusted.Add(1)
	return true
}

// doubt makes the next claims look first.
func (f *fresh) doubt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doubted.Load() > 0 {
		return // by a claim that was on its way at the same time
	}
	if soon := f.trusted.Swap(0) <= f.span; soon {
		f.span = min(2*f.span, mostDoubt)
	} else {
		f.span = doubtFor
	}
	f.doubted.Store(f.span)
}
