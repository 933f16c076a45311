// Package debezium takes the place of Debezium's outbox event router on PostgreSQL, and
// gives it back: docs/debezium.md has the procedures.
//
// A Table is an outbox table of Debezium's, whose producers stay as they are. Two triggers
// write each row that is inserted into leat's outbox as well, in the producer's own
// transaction. So what is committed is relayed and nothing else, also if the producer deletes the row
// right after inserting it, which only triggers and the write-ahead log see. A row
// has no number that follows the order of commits, so that no reader of the table could keep the order of a key.
//
// A Slot is the replication slot of a connector: where it stands, and what it has not sent
// yet. Handoff does the steps between a connector and a relay.
//
// Stability: young, see docs/versions.md.
package debezium
