// Package pgoutbox is the transactional outbox on PostgreSQL 14 and later, with
// pgx.
//
//	ob, err := pgoutbox.New(pool, pgoutbox.Config{}) // NewSQL takes a *sql.DB
//	err = ob.Migrate(ctx)
//	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
//		// … the business rows, in tx …
//		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: payload})
//	})
//
//	source, err := ob.Source(pgoutbox.SourceConfig{})
//	r, err := relay.New(source, sink, relay.Config{}) // the sink is kafkasink.New(…), say
//	err = r.Run(ctx)
//
// Enqueue writes messages in a business transaction (pgx.Tx, or *sql.Tx of pgx's stdlib driver),
// as one INSERT into an append-only log. Source reads the log for a relay through snapshot
// windows: a transaction that commits late is neither skipped nor waited for, and nothing is ever
// updated or locked without the producers' knowledge. Admin is the operators' interface.
//
// Stability: stable, see docs/versions.md.
package pgoutbox
