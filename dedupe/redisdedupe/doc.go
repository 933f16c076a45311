// Package redisdedupe is a dedupe.Store on Redis 6 or newer, or Valkey:
// standalone, sentinel or cluster.
//
// # What is stored
//
// One string a message. A claim is a plain SET NX with an expiry; only a claim
// that meets a record, and every later step, is a script, of one key each.
//
//	P <token> <attempt> <lease> <ttl> <fingerprint>   being processed
//	F …                                               released undone
//	D …\n<result>                                     done
//
// Lease and ttl are in milliseconds. What is left of a lease is computed from the
// time that the key has left: it was claimed with ttl, so the lease is over when
// less than ttl − lease is left. Time is thus the server's own.
//
// # When memory is full
//
// With maxmemory-policy noeviction, a full Redis refuses to write strings, but
// not to change an expiry. So a claim then fails, and nothing has run; but a
// message whose effect is there must still become done: it gets an expiry beyond
// ttl, which no record in progress ever has, and is read as done until ttl is left. Only the
// result is lost. Releasing falls back on an expiry in the same way.
//
// # What it costs
//
// Two round trips a message, and about 150 bytes of memory plus the lengths of
// consumer, id and result, for Config.TTL.
package redisdedupe
