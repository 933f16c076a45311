// Package debezium takes the place of Debezium's outbox event router on PostgreSQL, and
// gives it back: docs/debezium.md has the procedures.
//
// The connector's table is taken over by package adopt, whose producers stay as they are:
// FromConnector says how. Triggers and the write-ahead log are all that see a row that is deleted right after
// it was inserted.
//
// A Slot is the replication slot of a connector: where it stands, and what it has not sent
// yet. Handoff does the steps between a connector and a relay.
//
// Stability: young, see docs/versions.md.
package debezium
