// Package relay is the engine that carries committed records from an outbox to
// a broker: in key order, at least once, from one of any number of replicas.
//
// A Source reads an outbox and a Sink delivers records; Relay joins them and
// keeps the rules: one leased, fenced reader at a time; a position that only
// ever passes acknowledged records; a page is sent by one reader, in order, and
// nothing behind a failed record of the same key is sent; no database
// transaction is open while the broker is called.
package relay
