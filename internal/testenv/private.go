package testenv

import (
	"context"
	"errors"
	"syscall"
	"testing"
)

// private is a server of a test's own: an [Own] that fails the test when it fails, and
// is gone when the test ends.
type private struct {
	tb  testing.TB
	own *Own
}

// startPrivate starts one. Where there is none to be started and needs says what for,
// the test is skipped, in CI it fails.
func startPrivate(tb testing.TB, needs string, start func(context.Context) (*Own, error)) private {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	own, err := start(ctx)
	if needs != "" && errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("needs %s: %s", needs, firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := own.Close(); err != nil {
			tb.Errorf("stop the test's own server: %v", err)
		}
	})

	return private{tb: tb, own: own}
}

// end sends the server a signal and waits until it has exited.
func (s private) end(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.own.End(context.Background(), sig); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts the server again, on the same port and data, and waits until it
// answers.
func (s private) Start() {
	s.tb.Helper()
	if err := s.own.Start(context.Background()); err != nil {
		s.tb.Fatal(err)
	}
}
