// Package proof checks leat's promises beyond the tests of its packages: with models of its protocols,
// simulation of its engines, processes on real servers that are killed, and a checker of the histories
// that they leave. Below it are all other tests that need drivers, clients or programs that the tested
// packages do not need.
//
// It is a separate module, so that users do not get its dependencies. `make proof` runs what takes
// minutes. `make soak` injects faults for as long as requested.
package proof
