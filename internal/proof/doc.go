// Package proof is where leat's promises are checked beyond the tests of its
// packages: models of its protocols, simulation of its engines, processes on real
// servers that are killed, and a checker of the histories they leave. Below it are all
// other tests that need drivers, clients or programs that the packages under test do not.
//
// It is a module of its own, so that what it needs is nobody else's dependency.
// `make proof` runs what takes minutes, `make soak` runs the faults for as long as
// it is asked to.
package proof
