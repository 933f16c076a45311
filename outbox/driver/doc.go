// Package driver is the contract between a relay and its two ends: a Source, which is a log of
// committed records in some database, and a Sink, which is a destination.
//
// Authors of adapters implement it; users of adapters only need Start. Apart from Source with its
// Session, and Sink, everything is optional, and is found by a type assertion: Holder sets
// records aside that cannot be delivered, Sharded divides a source into slots, Positioned and
// TransactionalSink together deliver exactly once, History replays, and Checker and TopicChecker
// distinguish an outage of the destination from one of a topic.
//
// Package outboxtest has a suite that every Source must pass.
//
// Stability: young, see docs/versions.md.
package driver
