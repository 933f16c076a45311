package driver

// Tailed is a Session that can hand out records before its position can pass them: pages
// that are Early, from a change log beside the table that it reads. Settling an early page
// moves nothing. The session remembers its records in memory, and does not hand them out
// again when it comes to them: a crash repeats them, and none is lost.
//
// An early page cannot be held. If it cannot be delivered as it is, the relay withdraws it,
// and the session hands its records out again, in pages that can. So a relay that wants to
// set something aside, or that minds a pause, does without early pages meanwhile.
//
// The methods may be called while Read runs, from the goroutine that calls Advance.
type Tailed interface {
	Session

	// Follow allows early pages, or ends them. At first there are none. While the session
	// follows, a Read may miss records for as long as the Source says, until it looks for
	// them; a wake tells when it has more.
	Follow(on bool)

	// Current reports whether p, which is Early, is still to be sent. It is not if a page
	// before it was withdrawn.
	Current(p Page) bool

	// Withdraw takes p back, which is Early and not settled, and all early pages after it.
	// acked are the places of p that the sink has acknowledged: their records do not come
	// again. All pages before p are settled.
	Withdraw(p Page, acked []int)
}
