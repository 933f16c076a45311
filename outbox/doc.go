// Package outbox is the portable core of the transactional outbox: the message
// that a service enqueues in its business transaction, the record that a relay
// reads back after the commit, and the errors and hooks that every adapter
// shares. It imports no database and no broker.
//
// An adapter such as pgoutbox writes messages, package relay carries records,
// and a sink such as kafkasink or wmsink delivers them:
//
//	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
//	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
//		// … the business rows, in tx …
//		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: payload})
//	})
//
// Package leat at the root of the module runs all of it from a single value.
//
// Stability: stable, see docs/versions.md.
package outbox
