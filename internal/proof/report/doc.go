// Package report writes what a run of the proofs has shown: the page
// docs/internals/reliability.md and its plots. A harness fills in a [Run]; no figure of the page
// is from anywhere else. Failure points of the code that the run has not struck are
// named with a 0.
package report
