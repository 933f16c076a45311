// Package report writes the results of a run of the proofs: the page docs/internals/reliability.md and its
// plots. A harness fills in a [Run], and every figure of the page comes from it. The page lists a failure
// point of the code that the run has not struck with a 0.
package report
