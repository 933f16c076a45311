// Package dedupe suppresses repeats of effects that no SQL transaction can hold:
// a call of an API, a mail, a file. (For effects in PostgreSQL, package inbox
// does better.)
//
//	store, err := redisdedupe.New(client, redisdedupe.Config{})
//	mailer, err := dedupe.New(store, "mailer", dedupe.Config{})
//	_, err = mailer.Do(ctx, dedupe.Message{ID: orderID}, func(ctx context.Context) ([]byte, error) {
//		return nil, send(ctx, orderID) // not again while the store remembers it
//	})
//
// A Store keeps one record per message: who is processing it, under a lease, or that it is
// done. A Processor claims the message, runs the handler while it extends the lease, and
// completes it.
//
// The guarantee, and no more: at least once; repeats are suppressed while the store keeps its
// record; nothing is ever lost through this layer. A handler that outlives its lease, or whose
// process dies between the effect and the completion, has its effect repeated. Pass the message's
// id to the far side as an idempotency key, and the remaining gap is closed there.
//
// Stability: stable, see docs/versions.md.
package dedupe
