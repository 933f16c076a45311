package testenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// Promtool returns the path of Prometheus's promtool, which checks rules and plays them
// against series of a test. Root on Debian installs it if it is missing. If that is not
// possible, the test fails in CI and is skipped elsewhere.
func Promtool(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	path, err := findPromtool(ctx)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("promtool is needed: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}

	return path
}

func findPromtool(ctx context.Context) (string, error) {
	if path, err := localPromtool(); err == nil || !mayInstall() {
		return path, err
	}
	if err := install(ctx, "prometheus"); err != nil {
		return "", err
	}

	return localPromtool()
}

func localPromtool() (string, error) {
	path, err := exec.LookPath("promtool")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	return path, nil
}
