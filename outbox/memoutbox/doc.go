// Package memoutbox is an outbox in memory. It behaves like the PostgreSQL
// outbox where it matters to a test: a message is readable once its transaction
// has committed and never before, a transaction that commits late shows its
// messages late although their numbers are low, writers of one key wait for one
// another, and a relay needs a lease that expires.
//
// It is the reference implementation for the conformance suite of package outboxtest, and a fake
// for the tests of services that enqueue:
//
//	ob, err := memoutbox.New(memoutbox.Config{})
//	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
//		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "17"})
//	})
//	msgs := ob.Messages()
//
// It only waits on channels and only reads the time with time.Now, so that it can be used inside
// a bubble of testing/synctest. Nothing is ever removed: memory grows with every message.
//
// Stability: young, see docs/versions.md.
package memoutbox
