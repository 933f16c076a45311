// Package twotier answers redeliveries from a cache, in this process or in Redis,
// before the inbox's database is asked: for storms of duplicates.
//
//	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
//	tiers, err := twotier.New(in.Processor, twotier.Config{Scope: in.Scope})
//	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: tiers, Outbox: ob})
//	handler.AddMiddleware(once)
//
// The caches hold the ids of messages whose transactions have committed, written after the
// commit, and nothing else: no reservations, and no Bloom filter, whose false positives would be
// lost messages. Each id is held with the scope in which it committed. A message is skipped only
// if the scope is still the same, by a read of the database that began after the message was
// received; one read serves all waiting deliveries. So a commit that was lost in a failover or a
// crash never causes a skip (invariant I9).
//
//	receive ─▶ caches ── not seen, or they fail ──▶ inbox ──▶ commit ─▶ remember ─▶ ack
//	              │ seen in scope s
//	              └─▶ scope now ── s ──▶ ack
//	                      └── another one, or unknown ──▶ inbox
//
// Whatever a cache answers or fails to answer, the worst case is one more query to the database.
// The caches save the claims of duplicates; new messages pay for the look.
// See rule B12 and design 17.2.
//
// Stability: young, see docs/versions.md.
package twotier
