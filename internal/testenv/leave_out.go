package testenv

import (
	"testing"

	"github.com/leat-go/leat/internal/failpoint"
)

// Long marks a test that is left out with -short, and says why. With CI=true
// nothing may be left out: there the test fails instead.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if testing.Short() {
		leaveOut(tb, "-short: "+reason)
	}
}

// Failpoints marks a test that is left out of a build without the tag
// leat_failpoints. With CI=true it fails instead.
func Failpoints(tb testing.TB) {
	tb.Helper()
	if !failpoint.Enabled {
		leaveOut(tb, "needs -tags=leat_failpoints")
	}
}

func leaveOut(tb testing.TB, reason string) {
	tb.Helper()
	if inCI() {
		tb.Fatalf("left out although CI=true: %s", reason)
	}
	tb.Skip(reason)
}
