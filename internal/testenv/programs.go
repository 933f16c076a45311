package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Chromium returns the path of Chromium, in which tests show pages without a window. Root on Debian
// installs it if it is missing. If that is not possible, the test is skipped; in CI it fails.
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

// Promtool returns the path of Prometheus's promtool, which checks rules and evaluates them on a test's
// series. Root on Debian installs it if it is missing. If that is not possible, the test is skipped; in CI
// it fails.
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

// Prometheus returns the path of Prometheus. Root on Debian installs it if it is missing. If it
// cannot be installed, the error wraps [ErrUnavailable].
func Prometheus(ctx context.Context) (string, error) { return findOfPrometheus(ctx, "prometheus") }

func findPromtool(ctx context.Context) (string, error) { return findOfPrometheus(ctx, "promtool") }

// findOfPrometheus looks for a program of Debian's package prometheus.
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

// Python returns the path of a Python 3 that has module, such as "psycopg", which is in Debian's package
// python3-psycopg. Root on Debian installs both if they are missing. If that is not possible, the test is
// skipped; in CI it fails.
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

// localPython prefers Debian's own Python, since Debian's packages are made for it.
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

// PythonWith returns the path of a Python 3 with the packages in requirements, a file for pip. This Python
// is made once and kept. If that is not possible, the test is skipped; in CI it fails.
func PythonWith(tb testing.TB, requirements string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	path, err := virtualPython(ctx, requirements)
	if errors.Is(err, ErrUnavailable) && mayInstall() {
		if err = install(ctx, "python3-venv"); err == nil {
			path, err = virtualPython(ctx, requirements)
		}
	}
	Available(tb, err)

	return path
}

func virtualPython(ctx context.Context, requirements string) (string, error) {
	python, err := localPython(ctx, "ensurepip")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, python...))
	dir := filepath.Join(cache, "python-"+hex.EncodeToString(sum[:])[:10])
	err = once(ctx, dir, func(dir string) error {
		for _, argv := range [][]string{
			{python, "-m", "venv", dir},
			{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "-q", "--only-binary", ":all:", "-r", requirements},
		} {
			if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %v: %w\n%s", ErrUnavailable, argv, err, out)
			}
		}

		return nil
	})

	return filepath.Join(dir, "bin", "python"), err
}
