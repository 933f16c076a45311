// Package inboxtest is the conformance suite of leat's inboxes: what every adapter must do,
// whatever its database. An adapter's test wraps the adapter in a Subject and hands it to Run:
//
//	func TestInbox(t *testing.T) {
//		t.Parallel()
//		inboxtest.Run(t, inboxtest.Features{}, newSubject)
//	}
//
// Inboxes that remember positions instead of ids have a suite of their own, RunPositions.
//
// Checks are named after the invariants of docs/guarantees.md. Each is a
// function that returns an error, so that an adapter can also show that a
// broken variant of itself is caught: see Checks and Find.
//
// Stability: young, see docs/versions.md.
package inboxtest
