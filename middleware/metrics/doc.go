// Package metrics counts and measures what outboxes, relays and inboxes do. It observes them
// through their hooks (docs/hooks.md), their State and their Stats, and passes the values to a
// Backend: package promleat has one for Prometheus, package otelleat one for OpenTelemetry. Table
// lists all metrics; docs/metrics.md shows it.
//
//	m, err := promleat.New(prometheus.DefaultRegisterer, metrics.Config{})
//	shop, err := m.Outbox("shop")
//	ob, err := pgoutbox.New(pool, pgoutbox.Config{Hooks: []outbox.Hook{shop}})
//
// New returns a Metrics, one for a process and registry. It creates observers:
//
//   - Outbox observes producers, Relay a relay, Maintenance the maintenance of a store;
//   - Consumers observes inboxes, deduplicators, caches and handlers;
//   - Source observes subscribers that read from a broker;
//   - Sampler asks stores for their figures at intervals.
//
// Labels never hold ids or keys. The values that users choose, such as topics, are bounded
// (Config.MaxValues); further values are counted together, as Other.
//
// Stability: young, see docs/versions.md.
package metrics
