// Package outbox is the portable core of the transactional outbox: the message
// that a service enqueues in its business transaction, the record that a relay
// reads back after the commit, and the errors and hooks that every adapter
// shares. It imports no database and no broker.
//
// An adapter such as pgoutbox writes messages, package relay carries records,
// and a sink such as kafkasink or wmsink delivers them.
//
// Stability: stable, see docs/versions.md.
package outbox
