// Package relay is the engine that carries committed records from an outbox to
// a broker: in key order, at least once, from one of any number of replicas.
//
//	source, err := ob.Source(pgoutbox.SourceConfig{})
//	sink, err := kafkasink.New(brokers, kafkasink.Config{})
//	r, err := relay.New(source, sink, relay.Config{})
//	err = r.Run(ctx) // until ctx ends
//
// Func makes a function the destination. Replay sends history once more.
//
// A Source reads an outbox and a Sink delivers records; Relay joins them and
// keeps the rules. One leased, fenced relay reads a slot at a time. The position only
// passes records that are acknowledged or durably set aside. Pages are sent in order, and
// nothing is sent behind a failed record of the same key. No database transaction is open
// while the broker is called.
//
// There are two kinds of failures. An outage of a destination opens its breaker: it only costs
// time. A record that cannot be delivered is set aside with its key, tried again with backoff,
// and finally parked, given up, dropped or tried for ever, according to Config.Policies; other
// keys go on. Hooks and State show what happens.
//
// Stability: stable, see docs/versions.md.
package relay
