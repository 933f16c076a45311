// Package driver is what a relay and its two ends agree on: a Source, which is a log
// of committed records in some database, and a Sink, which is a destination.
//
// Whoever writes an adapter implements it; whoever uses one needs Start alone. Beyond
// Source with its Session, and Sink, everything is optional, and is found by a type
// assertion: Holder sets records aside that cannot be delivered, Sharded divides a
// source into slots, Positioned and TransactionalSink together deliver exactly once,
// History replays, Checker and TopicChecker tell an outage of the destination from one
// of a topic.
//
// Package outboxtest has a suite that every Source has to pass.
//
// Stability: young, see docs/versions.md.
package driver
