package testenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// Chromium returns the path of Chromium, which tests of pages drive without a screen. Root on
// Debian installs it if it is missing. If that is not possible, the test fails in CI and is
// skipped elsewhere.
func Chromium(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	path, err := localChromium()
	if errors.Is(err, ErrUnavailable) && mayInstall() {
		if err = install(ctx, "chromium"); err == nil {
			path, err = localChromium()
		}
	}
	Available(tb, err)

	return path
}

func localChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}

	return "", fmt.Errorf("%w: no chromium in PATH", ErrUnavailable)
}
