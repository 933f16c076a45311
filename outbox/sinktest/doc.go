// Package sinktest is the conformance suite of sinks: it checks what driver.Sink demands, with a
// sink and its real destination.
//
// The author of a sink writes a Subject, which makes the sink and reads what has arrived at the
// destination. Ways to disturb the destination are interfaces that the Subject implements if it
// can: Refuser, Muter, Staller, Misser, Limiter. Run runs all checks, each on a new Subject;
// RunKill those that kill the destination. Features rules out what the destination cannot have,
// and Run fails if more is ruled out than that.
//
// Every call of Send in the suite is judged in the same way, whatever the check is about: one
// result per record, nothing after a failure of its key, a cause among the results, records
// unchanged; afterwards their memory is overwritten. What arrives must be what was sent, and what
// was acknowledged must have arrived.
//
// Stability: young, see docs/versions.md.
package sinktest
