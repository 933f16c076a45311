// Package pghttp keeps the responses of HTTP requests in PostgreSQL, in the
// transaction that the handler writes in: a httpdedupe.TxStore.
//
// A request takes one connection from its claim to its commit, and three
// round trips beside the handler's own. One row a request is written, once, with its
// response; Prune removes those that have expired.
//
// Stability: young, see docs/versions.md.
package pghttp
