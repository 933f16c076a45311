// Package promleat shows package metrics in Prometheus. It is a module of its own, so that
// the library does not depend on Prometheus's client.
//
//	m, err := promleat.New(prometheus.DefaultRegisterer, metrics.Config{})
//
// Give the observers of m to the Hooks of outboxes, relays and inboxes. docs/metrics.md lists all
// metrics; alert rules and a dashboard are next to it.
//
// Stability: young, see docs/versions.md.
package promleat
