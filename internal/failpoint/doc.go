// Package failpoint puts named points into the code at which a test can inject a fault: an error, a
// panic, the end of the process, a pause.
//
//	if err := failpoint.Inject(ctx, failpoint.RelayAfterFetch); err != nil {
//		return err
//	}
//
// Every name is reached by code and armed by tests with each kind of failure:
// docs/internals/failure-points.md is the table, and a test keeps it true.
//
// Points are armed by package failpointtest, which only tests and test programs link. Without it
// nothing can be armed: this package reads no environment, flag or file.
package failpoint
