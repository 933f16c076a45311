// Package inbox makes redelivery harmless: it records the id of a message in
// the transaction in which the message's effects are written, so that the
// message takes effect once however often it is delivered.
//
//	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For})
//	router.AddMiddleware(once) // a handler writes in pginbox.Tx(msg.Context())
//
// Processor is the engine. It claims a message in a Store, runs the handler in
// the transaction that the claim has opened, commits, and only then lets the
// caller acknowledge. An adapter such as pginbox is a Store with a Processor on
// top, and package driver is for authors of such adapters. middleware.NewInbox puts either
// into a Watermill router.
//
//	claim (consumer, id) ──▶ handler ──▶ COMMIT ──▶ ack
//	   │ Duplicate: ack        │ error, panic, early ack, rollback-only:
//	   │ Busy: nack            └────▶ ROLLBACK, nack: no trace is left
//
// A handler that is wrapped by one of leat's functions has its own copy of the message: Ack on it
// does nothing, and Nack makes the delivery fail. An early ack is one by other code, on the
// delivered message.
//
// A message is acknowledged only when it was committed now or before. While another delivery of
// it is in progress it is Busy, which is never acknowledged: the other delivery may still fail.
//
// The errors here are those of Process. The errors of a store about a message or a
// position, such as driver.ErrTooOld and driver.ErrGap, are in package driver.
//
// Stability: stable, see docs/versions.md.
package inbox
