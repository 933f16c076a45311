// Package heldqueue keeps the records that a relay has set aside, for stores that have
// no set-based SQL of their own: the rules are here, once, and a store brings a few
// methods that read and write rows (Tx). Package pgheld is the same in SQL; a search
// runs the same script on both and compares them after each step.
//
// # The machine
//
// A row is in one of four states. Retry: the record is sent again once its time has
// come. Wait: it follows an earlier record of its key. Parked: it waits for an operator.
// Dead: it was given up. The rows of a key that are not dead are its line, in order of
// Seq; dead ones are in no line.
//
//	hold     → Retry, Wait, Parked or Dead; a skipped record gets no row
//	resolve  Retry, Wait → Retry, Parked or Dead; delivered and skipped ones leave
//	redrive  Parked, Dead → Retry; Retry → Retry, due at once; taken back Retry → Parked
//	drop     any → leave
//
// Every write ends with settle, for the keys that it has touched: a first row that waits
// becomes due at once, and a row behind the first that would be retried waits.
//
// # The invariant
//
// Check tests it on all rows of a group, CheckDue on an answer of Due.
//
//  1. A record has at most one row, and a row is in one state. Next is set if that is
//     Retry, and in no other state.
//  2. The first row of a line is Retry or Parked.
//  3. No row behind the first is Retry.
//  4. A record without a key never waits.
//
// Proof. (1): rows are stored by group and Seq, hold passes over records that have a row,
// and a dead record is the same row in another state. (4): become turns Wait into Retry
// for records without a key, and nothing else makes a row wait but settle, which looks at
// lines. (2) and (3) hold of no rows. A write changes rows of the keys that it hands to
// settle and of no others, so they hold of the other lines as before. In a line that it
// has touched, settle makes the first row Retry if it waits, which is (2), and every later
// Retry wait, which is (3); it changes nothing else, so that the first stays first. Both
// statements hold when the transaction commits, whatever the caller asked for, and writers
// of a group take turns.
//
// So the records of a key leave in order of Seq. Due returns a first row that is Retry,
// and of the rows behind it those that wait, without a gap, up to the next that does not:
// by (2) and (3) nothing stands before a row of the answer but rows of the answer. A relay
// sends them in that order, sends nothing of a key behind a record that failed, and tells
// Resolve in the same order. Behind a parked row nothing is due until an operator redrives
// or drops it. The one exception is a dead record that is redriven: its key has gone on
// meanwhile.
//
// Nothing is lost: a row is deleted by a verdict that its record was delivered or is to be
// skipped, or by an operator who drops it, and both of the latter are noted in the audit.
// A line is never stuck: by (2) its first row is due some day, or an operator's.
package heldqueue
