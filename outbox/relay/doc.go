// Package relay is the engine that carries committed records from an outbox to
// a broker: in key order, at least once, from one of any number of replicas.
//
// A Source reads an outbox and a Sink delivers records; Relay joins them and
// keeps the rules: one leased, fenced reader a slot at a time; a position that only
// ever passes records that are acknowledged or durably set aside; a page is sent
// by one reader, in order, and nothing behind a failed record of the same key is
// sent; no database transaction is open while the broker is called.
//
// What fails is told apart. An outage of a destination opens its breaker: it costs
// time and nothing else. A record that cannot be delivered is set aside with its
// key, tried again with backoff, and in the end parked, given up, dropped or tried
// for ever, as Config.Policies say; the others go on. Hooks and State tell what
// happens.
package relay
