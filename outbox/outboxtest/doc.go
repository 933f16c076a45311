// Package outboxtest is the conformance suite of leat's outboxes: what every
// adapter must do, whatever it stores its messages in. An adapter's test wraps
// the adapter in a Subject and hands it to Run, and to RunRelay for the same
// rules end to end through the relay:
//
//	func TestOutbox(t *testing.T) {
//		t.Parallel()
//		outboxtest.Run(t, outboxtest.Features{}, newSubject)
//	}
//
//	func TestRelay(t *testing.T) {
//		t.Parallel()
//		outboxtest.RunRelay(t, outboxtest.Features{}, newSubject)
//	}
//
// Optional features have checks of their own: delayed messages, groups with slots, stated starts
// and topics, positions that a sink keeps, replay. An adapter that has a feature implements its
// interface on its Subject (Grouper, Delayer, Replayer and so on); an adapter without it sets the
// field in Features. Run logs a table of what was checked, and fails an adapter that rules out a
// feature that it has.
//
// Sessions that follow a change log next to the table (driver.Tailed) have a separate suite,
// RunTail.
//
// Checks are named after the invariants of docs/guarantees.md. Check.Run returns an error, so
// that an adapter can also show that a broken variant of itself is caught: see Checks,
// RelayChecks, TailChecks and Find.
//
// A Broker is a destination in memory.
//
// The sources are sorted by promise:
//
//	commit.go        O1 and O3: what a transaction enqueues, what is refused
//	loss.go          O2 and O11: late commits, rollbacks, retention, open transactions
//	copies.go        O4: ids, contents, defaults
//	order.go         O5: the order of a key, and who waits for it
//	held.go          O6, O8, O9 and O14: records set aside, and those that are due
//	parked.go        O6: redrive, drop, skip
//	lease.go         O9, O10, O13 and O14: one holder, takeover, release
//	position.go      O12: what a session has settled
//	groups.go        O2 and O12: groups, their starts and topics
//	slots.go         O2, O5, O9, O12 and O14: groups with several slots
//	delay.go         O1, O2, O4, O5 and O10 of delayed messages
//	seek.go          O2, O10 and O12: positions that a sink keeps
//	replay.go        O2, O4 and O12: history
//	wake.go          wakes
//	admin.go         what an operator sees
//	admin_change.go  what an operator changes, and the audit of it
//	tail.go          Tail_: sessions that follow a change log
//	relay.go         Relay_: everyday runs, shared slots
//	relay_faults.go  Relay_: failures, kills, exactly once
//	relay_poison.go  Relay_: O6 to O9
//	relay_stop.go    Relay_: O13 and O14
//
// The other files are shared by the checks: reader.go reads, write.go and storm.go write,
// expect.go compares, features.go finds out what an outbox has.
//
// Stability: young, see docs/versions.md.
package outboxtest
