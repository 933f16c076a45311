package points

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoRoot is returned where no directory above holds the repository.
var ErrNoRoot = errors.New("points: not inside the repository")

// Root returns the root of the repository that holds dir: the nearest directory above
// that declares failure points.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, filepath.FromSlash(namesFile)))
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: %s", ErrNoRoot, dir)
		}
	}
}
