// Package admin is the operator's interface to an outbox, the same for every store: Outbox, its
// optional extensions, and the types of their requests and answers.
//
// Stability: young, see docs/versions.md.
package admin
