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

// Prometheus returns the path of Prometheus. Root on Debian installs it if it is missing; what is
// neither there nor to be had is an error that wraps [ErrUnavailable].
func Prometheus(ctx context.Context) (string, error) { return findOfPrometheus(ctx, "prometheus") }

func findPromtool(ctx context.Context) (string, error) { return findOfPrometheus(ctx, "promtool") }

// findOfPrometheus looks for a program of Debian's package.
func findOfPrometheus(ctx context.Context, program string) (string, error) {
	if path, err := localProgram(program); err == nil || !mayInstall() {
		return path, err
	}
	if err := install(ctx, "prometheus"); err != nil {
		return "", err
	}

	return localProgram(program)
}

func localProgram(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	return path, nil
}
