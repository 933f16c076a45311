// Package sinktest is the conformance suite of sinks: what driver.Sink demands, asked of
// a sink and the destination that it has.
//
// The author of a sink writes a Subject: how to make the sink, and how to look what has
// arrived at the destination. Means to harm the destination are interfaces that the Subject
// implements if it can: Refuser, Muter, Staller, Misser, Limiter. Run runs all checks, each
// on a new Subject; RunKill those that kill the destination. Features rules out what
// the destination cannot have, and Run fails if more is ruled out than that.
//
// Every call of Send in the suite goes through the same judgement, whatever the check is
// about: one result a record, nothing behind a failure of its key, a reason among the
// results, records unchanged; afterwards their memory is overwritten. What arrives
// must be what was sent, and what was acknowledged must have arrived.
//
// Stability: young, see docs/versions.md.
package sinktest
