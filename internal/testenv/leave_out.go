package testenv

import (
	"errors"
	"testing"
)

// Long marks a test that is left out with -short, and says why. With CI=true
// nothing may be left out: there the test fails instead.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if testing.Short() {
		leaveOut(tb, "-short: "+reason)
	}
}

// Available fails a test whose server could not be started. Where there is none to be
// started, err being [ErrUnavailable], the test is left out; with CI=true it fails.
func Available(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrUnavailable) {
		leaveOut(tb, firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func leaveOut(tb testing.TB, reason string) {
	tb.Helper()
	if inCI() {
		tb.Fatalf("left out although CI=true: %s", reason)
	}
	tb.Skip(reason)
}
