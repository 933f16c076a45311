// Package debezium replaces Debezium's outbox event router on PostgreSQL, and can switch back:
// docs/debezium.md has the procedures.
//
// The connector's table is taken over by package adopt, whose producers stay as they are:
// FromConnector says how. Only triggers and the write-ahead log see a row that is deleted right
// after it was inserted.
//
// A Slot is the replication slot of a connector, with its position and what it has not sent yet.
// Handoff performs the steps between a connector and a relay.
//
// Stability: young, see docs/versions.md.
package debezium
