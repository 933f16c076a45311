// Package pgdedupe is a dedupe.Store in PostgreSQL, for services that have it and no Redis. Each
// step is one statement in autocommit, so a slow handler holds no connection and no transaction.
//
//	store, err := pgdedupe.New(pool, pgdedupe.Config{})
//	err = store.Migrate(ctx)
//	mailer, err := dedupe.New(store, "mailer", dedupe.Config{})
//
// For effects in the same database use package pginbox: it commits the memory with the effect.
//
// TxStore keeps the responses of HTTP requests, in the transaction that the handler writes
// in, for package httpdedupe.
//
// Stability: stable, see docs/versions.md.
package pgdedupe
