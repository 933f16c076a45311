package pginbox

import (
	"sync"
	"sync/atomic"
)

// If a claim assumed that its messages were new, and one was not, the next doubtFor claims look
// first. If that happens again within as many claims, twice as many look first, up to mostDoubt.
const (
	doubtFor  = 100
	mostDoubt = 64 * doubtFor
)

// fresh decides whether to assume that messages are new. That is cheaper if they are, and costs a
// second claim and a line in the server's log if they are not. Duplicates tend to come in bursts;
// this way a burst costs little. It is safe for concurrent use.
type fresh struct {
	doubted atomic.Int64 // number of claims that must still look first
	trusted atomic.Int64 // number of claims since the last doubt that did not look first

	mu   sync.Mutex
	span int64 // number of claims that had to look first after the last doubt
}

// expected reports whether to assume that the next messages are new, and counts the claim.
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
		return // a concurrent claim has already doubted
	}
	if soon := f.trusted.Swap(0) <= f.span; soon {
		f.span = min(2*f.span, mostDoubt)
	} else {
		f.span = doubtFor
	}
	f.doubted.Store(f.span)
}
