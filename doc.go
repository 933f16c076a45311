// Package leat runs everything that a service needs for effectively-once messaging, as one value:
//
//	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
//	in, err := pginbox.New(pool, "shop", pginbox.Config{})
//	sink, err := kafkasink.New(brokers, kafkasink.Config{})
//	shop, err := leat.New(leat.Config{Outbox: ob, Inbox: in, Sink: sink})
//
//	router := shop.Router(nil) // or one of your own
//	router.AddConsumerHandler("loyalty", "orders", subscriber, countPoints)
//
//	err = shop.Run(ctx)
//
// Producers write their events in their own transactions, by the outbox's InTx. Run
// carries committed events to the broker, runs each handler once for a message, and does
// the upkeep of both stores. Several instances share the work.
//
// The parts are usable without this package, and each can be replaced by one of your own: package
// relay sends, package middleware has the inbox for a router, and the stores have their
// maintenance. A service that only publishes sets no Inbox, and one that only consumes sets no
// Outbox.
//
// Stability: young, see docs/versions.md.
package leat
