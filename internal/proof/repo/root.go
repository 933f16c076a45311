package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// module is the module line of leat's go.mod.
const module = "module github.com/leat-go/leat"

// ErrNotInside is returned if neither the directory nor one above it contains leat's module.
var ErrNotInside = errors.New("repo: not inside the sources of leat")

// Root returns the root of the repository that contains dir. It is the nearest directory, dir or one above
// it, with leat's own module.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod")) //nolint:gosec // our own sources
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if first, _, _ := strings.Cut(string(text), "\n"); strings.TrimSpace(first) == module {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: %s", ErrNotInside, dir)
		}
	}
}
