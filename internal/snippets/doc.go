// Package snippets has the tests of README.md and docs/: every block of Go code compiles,
// and every link leads somewhere.
//
// A block is statements of a function that has a ctx and returns an error, or declarations, or one
// function literal. What it uses without declaring it is listed in a comment on the line before it,
// as parameters:
//
//	<!-- given: pool *pgxpool.Pool, router *message.Router -->
//
// A block that needs a module outside the library is compiled in a file of another module. The
// comment before it names the file:
//
//	<!-- compiled in: examples/brokers/nats.go -->
//
// Packages need no import: those that blocks may use are listed in the test. Declarations may be
// unused.
package snippets
