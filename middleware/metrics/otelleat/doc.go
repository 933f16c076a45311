// Package otelleat shows package metrics in OpenTelemetry. It uses the API only: readers,
// exporters and views are those of the provider that it is given.
//
// Names are those of Prometheus with dots after the first two words, without unit and
// "_total", and three of OpenTelemetry's conventions for messaging; see docs/metrics.md.
//
// Stability: young, see docs/versions.md.
package otelleat
