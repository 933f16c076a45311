// Package debezium reads messages that Debezium's outbox event router has sent: from
// leat's own table, with the connector of docs/debezium.md, or from any other outbox.
//
// Stability: young, see docs/versions.md.
package debezium
