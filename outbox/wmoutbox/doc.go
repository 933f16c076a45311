// Package wmoutbox lets Watermill code write to an outbox: its Publisher is a long-lived
// message.Publisher that finds the transaction in each message's context. It suits a
// cqrs.EventBus, a router's handler and anything else that is built once with a publisher.
//
//	publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
//	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
//		return publisher.Publish("orders", message.NewMessageWithContext(ctx, id, payload))
//	})
//
// It only writes. Messages leave the outbox through a relay, and consumers subscribe to the
// broker.
//
// Stability: stable, see docs/versions.md.
package wmoutbox
