// Package redisdedupe is a dedupe.Store on Redis 6 or newer, or Valkey:
// standalone, sentinel or cluster.
//
//	store, err := redisdedupe.New(redis.NewClient(options), redisdedupe.Config{})
//	mailer, err := dedupe.New(store, "mailer", dedupe.Config{})
//
// # What is stored
//
// One string per message. A claim is a plain SET NX with an expiry; only a claim that meets a
// record, and every later step, is a script, of one key each.
//
//	P <token> <attempt> <lease> <ttl> <fingerprint>   being processed
//	F …                                               released undone
//	D …\n<result>                                     done
//
// Lease and ttl are in milliseconds. What is left of a lease is computed from the time that the
// key has left: it was claimed with ttl, so the lease is over when less than ttl − lease is left.
// Time is thus the server's own. Only leases depend on it: that a message is done is stored in
// the record itself, whatever the expiry.
//
// A clock that steps ahead ends leases early, so that handlers can run twice, and
// forgets early. One that steps back is noticed, since a key then has more time
// left than it was ever given: the lease begins again.
//
// # When memory is full
//
// With maxmemory-policy noeviction, a full Redis refuses to write strings. So a claim fails, and
// nothing has run. But a message whose effect is there must still become done, and one that
// failed must be released. Redis refuses only the first write of a script, so the scripts begin
// with a write that is always allowed. Only the result is lost.
//
// # Without scripts
//
// Check, and the first Claim, find out whether SET supports IFEQ: Valkey does from 8.1 on, and
// Redis is announced to do so from 8.4 on. There the end of a run is one SET that compares the
// record with what the claim wrote, which the Store remembers for the latest 8,192 claims. The
// script runs only if the record is something else, or memory is full. The outcome is the same.
//
// # What it costs
//
// Two round trips per message, and about 150 bytes of memory plus the lengths of consumer, id
// and result, for Config.TTL. See design 17.1.
//
// Stability: stable, see docs/versions.md.
package redisdedupe
