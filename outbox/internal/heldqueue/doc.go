// Package heldqueue keeps the records that a relay has set aside, for stores that have no
// set-based SQL of their own: the rules are implemented here, once, and a store provides a few
// methods that read and write rows (Tx). Package pgheld does the same in SQL; a randomised test
// runs the same script on both and compares them after each step.
//
// # The machine
//
// A row is in one of four states. Retry: the record is sent again once its time has come. Wait: it follows
// an earlier record of its key. Parked: it waits for an operator. Dead: it was given up. The rows of a key
// that are not dead are its line, in order of Seq; dead ones do not belong to a line.
//
//	hold     → Retry, Wait, Parked or Dead; a skipped record gets no row
//	resolve  Retry, Wait → Retry, Parked or Dead; delivered and skipped ones leave
//	redrive  Parked, Dead → Retry; Retry → Retry, due at once; taken back Retry → Parked
//	drop     any → leave
//
// Every write ends with settle, for the keys that it has touched: a first row in state Wait
// becomes due at once, and a row behind the first in state Retry changes to Wait.
//
// # The invariant
//
// Check tests it on all rows of a group, CheckDue on an answer of Due.
//
//  1. A record has at most one row, and a row is in one state. Next is set in state Retry, and
//     in no other.
//  2. The first row of a line is Retry or Parked.
//  3. No row behind the first is Retry.
//  4. A record without a key never waits.
//
// Proof. (1): rows are stored by group and Seq, hold skips records that have a row, and a dead
// record is the same row in another state. (4): become turns Wait into Retry for records without
// a key, and only settle makes a row wait otherwise, which handles lines. (2) and (3) hold for an
// empty table. A write only changes rows of the keys that it passes to settle, so (2) and (3)
// still hold for the other lines. In a line that was touched, settle makes the first row Retry if
// it waits, which is (2), and makes every later Retry wait, which is (3); it changes nothing
// else, so the first row stays first. Both statements hold when the transaction commits, whatever
// the caller asked for, and writers of a group take turns.
//
// So the records of a key leave in order of Seq. Due returns a first row that is Retry, and the
// rows behind it that wait, without a gap, up to the next row that does not wait: by (2) and (3)
// only rows of the answer come before a row of the answer. A relay sends them in that order,
// sends no record of a key behind one that failed, and reports to Resolve in the same order.
// Behind a parked row nothing is due until an operator redrives or drops it. The one exception is
// a dead record that is redriven: its key has moved on in the meantime.
//
// Nothing is lost: a row is only deleted by a verdict that its record was delivered or should be
// skipped, or by an operator who drops it. The audit has a note of a skip and of a drop. A line
// never gets stuck: by (2) its first row becomes due at some time, or waits for an operator.
package heldqueue
