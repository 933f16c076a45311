// Package failpoint puts named points into the code at which a test makes
// something go wrong: an error, a panic, the end of the process, a pause.
//
//	if err := failpoint.Inject(ctx, failpoint.RelayAfterFetch); err != nil {
//		return err
//	}
//
// Every name is reached by code and armed by tests with each kind of failure:
// docs/failure-points.md is the table, and a test keeps it true.
//
// Points exist under the build tag leat_failpoints only. Without it [Inject] is
// an empty function that the compiler inlines away.
//
// A test arms points on a [Registry] and puts it into the context with [With], so
// that parallel tests do not disturb each other. Processes of their own read the
// variable [EnvPoints] instead.
package failpoint
