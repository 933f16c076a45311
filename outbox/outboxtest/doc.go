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
// What an outbox need not have is optional, and has checks of its own: delayed messages,
// groups with slots, stated starts and topics, positions that a sink keeps, replay. An
// adapter that has it implements the interface for it on its Subject (Grouper, Delayer,
// Replayer and so on); one that has not says so in Features. Run logs a table of what was
// checked, and fails an adapter that rules out what it has.
//
// Sessions that follow a change log beside the table (driver.Tailed) have a suite of their
// own, RunTail.
//
// Checks are named after the invariants of docs/guarantees.md. Each is a
// function that returns an error, so that an adapter can also show that a
// broken variant of itself is caught: see Checks, RelayChecks, TailChecks and Find.
//
// Broker and RecordingSink are a destination in memory that fails on command.
package outboxtest
