package mutants

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// module is what is mutated.
const module = "github.com/leat-go/leat"

// ErrNoModule is returned outside of leat's sources.
var ErrNoModule = errors.New("mutants: the working directory is not in the sources of " + module)

// Root returns the directory of leat's module, which the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // our own sources
		if first, _, _ := strings.Cut(string(text), "\n"); err == nil && strings.TrimSpace(first) == "module "+module {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", ErrNoModule
		}
		dir = above
	}
}
