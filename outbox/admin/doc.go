// Package admin is what an operator sees of an outbox and asks of it, the same for every
// store: the interface Outbox, what a store may do beyond it, and the words of both.
//
// Stability: young, see docs/versions.md.
package admin
