// Package dedupetest is the conformance suite of dedupe.Store: what every
// adapter has to pass, named after the invariants.
//
// Stability: young, see docs/versions.md.
package dedupetest
