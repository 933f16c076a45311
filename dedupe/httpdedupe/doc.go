// Package httpdedupe makes repeated HTTP requests harmless: a net/http
// middleware for the header Idempotency-Key, as in
// draft-ietf-httpapi-idempotency-key-header. The first request with a key runs
// the handler, its repeats get the response of the first.
//
// There are two kinds. New remembers requests in any dedupe.Store, such as Redis, and gives the
// guarantee of package dedupe: at least once, repeats suppressed while the store keeps its
// record. NewTx runs the handler in a transaction and stores the response in it, so that the
// effects, the messages in the outbox and the response commit together, or not at all;
// pgdedupe.TxStore does so on PostgreSQL.
//
// Stability: young, see docs/versions.md.
package httpdedupe
