// Package promleat shows package metrics in Prometheus. It is a module of its own, so that
// the library does not depend on Prometheus's client.
//
//	m, err := promleat.New(prometheus.DefaultRegisterer, metrics.Config{})
//
// What m makes is given to the Hooks of outboxes, relays and inboxes; see docs/metrics.md,
// which has all metrics, and beside it alert rules and a dashboard.
//
// Stability: young, see docs/versions.md.
package promleat
