//go:build !leat_failpoints

package failpoint

import "context"

// Enabled reports whether this program was built with failure points.
const Enabled = false

// Inject does nothing in a build without failure points.
func Inject(context.Context, Name) error { return nil }
