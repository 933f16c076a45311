package testenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
)

// Python returns the path of a Python 3 that has module, such as "psycopg", which is in
// Debian's package python3-psycopg. Root on Debian installs both if they are missing. If that
// is not possible, the test fails in CI and is skipped elsewhere.
func Python(tb testing.TB, module string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	path, err := findPython(ctx, module)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("Python with %s is needed: %v", module, err)
	}
	if err != nil {
		tb.Fatal(err)
	}

	return path
}

func findPython(ctx context.Context, module string) (string, error) {
	if path, err := localPython(ctx, module); err == nil || !mayInstall() {
		return path, err
	}
	if err := install(ctx, "python3", "python3-"+module); err != nil {
		return "", err
	}

	return localPython(ctx, module)
}

// localPython prefers Debian's own, for which Debian's packages are.
func localPython(ctx context.Context, module string) (string, error) {
	err := ErrUnavailable
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		path, missing := exec.LookPath(name)
		if missing != nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, missing)
			continue
		}
		out, failed := exec.CommandContext(ctx, path, "-c", "import "+module).CombinedOutput()
		if failed == nil {
			return path, nil
		}
		err = fmt.Errorf("%w: %s has no %s: %s", ErrUnavailable, path, module, firstLine(errors.New(string(out))))
	}

	return "", err
}
