package driver

// Tailed is a Session that can return records before its position can pass them: pages that are
// Early, from a change log next to the table that it reads. Settling an early page does not move
// the position. The session remembers the records in memory, and does not return them again when
// it reaches them: a crash repeats them, and none is lost.
//
// An early page cannot be held. If it cannot be delivered as it is, the relay withdraws it, and the session
// returns its records again, in pages that can be held. So a relay stops using early pages while it has a
// record to set aside or obeys a pause.
//
// The methods may be called while Read runs, from the goroutine that calls Advance.
type Tailed interface {
	Session

	// Follow turns early pages on or off. They are off at first. While the session follows, a
	// Read may miss records for as long as the Source documents, until it looks for them; a wake
	// signals that it has more.
	Follow(on bool)

	// Current reports whether p, which is Early, is still to be sent. It is not if a page
	// before it was withdrawn.
	Current(p Page) bool

	// Withdraw takes back p, which is Early and not settled, and all early pages after it. acked
	// are the places in p that the sink has acknowledged: their records are not returned again.
	// All pages before p are settled.
	Withdraw(p Page, acked []int)
}
