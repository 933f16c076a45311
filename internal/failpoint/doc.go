// Package failpoint puts named points into the code at which a test makes
// something go wrong: an error, a panic, the end of the process, a pause.
//
//	if err := failpoint.Inject(ctx, failpoint.RelayAfterFetch); err != nil {
//		return err
//	}
//
// Not every name is reached yet: the list is that of all failures to be tested, and
// some belong to code that is still to come.
//
// Points exist under the build tag leat_failpoints only. Without it [Inject] is
// an empty function that the compiler inlines away.
//
// A test arms points on a [Registry] and puts it into the context with [With], so
// that parallel tests do not disturb each other. Processes of their own read the
// variable [EnvPoints] instead.
package failpoint
