// Package snippets has the test that compiles every block of Go code in README.md and
// in docs/.
//
// A block is statements of a function that has a ctx and returns an error, or
// declarations, or one function literal. What it uses and does not declare stands in a
// comment on the line before it, as parameters:
//
//	<!-- given: pool *pgxpool.Pool, router *message.Router -->
//
// Packages need no import: those that blocks may use are listed in the test. What is
// declared need not be used.
package snippets
