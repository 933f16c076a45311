package testenv

import "testing"

// Long marks a test that is left out with -short, and says why. With CI=true
// nothing may be left out: there the test fails instead.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if !testing.Short() {
		return
	}
	if inCI() {
		tb.Fatalf("left out by -short although CI=true: %s", reason)
	}
	tb.Skip(reason)
}
