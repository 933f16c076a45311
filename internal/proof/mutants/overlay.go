package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrText is returned for a mutant whose Old does not occur exactly once in its file.
var ErrText = errors.New("the text must occur exactly once")

// mutated returns the changed content of m's file. tree is the tree of the module.
func mutated(tree fs.FS, m *Mutant) ([]byte, error) {
	source, err := fs.ReadFile(tree, m.File)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(source), m.Old); m.Old == "" || n != 1 || m.Old == m.New {
		return nil, fmt.Errorf("%w: %q is %d times in %s", ErrText, m.Old, n, m.File)
	}
	return []byte(strings.Replace(string(source), m.Old, m.New, 1)), nil
}

// overlay writes two files to dir: the changed file of m, and the JSON file for -overlay that puts it into
// the module at root. It returns the name of the latter.
func overlay(root, dir string, m *Mutant) (string, error) {
	changed, err := mutated(os.DirFS(root), m)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, filepath.FromSlash(m.File)): file},
	})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}
