package mutants

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// errNoTest is returned for a mutant whose test does not exist.
var errNoTest = errors.New("there is no such test")

// checker checks that mutants fit the sources, without running anything.
type checker struct {
	tree  fs.FS
	words map[string]struct{} // string literals of all sources, among which are the names of subtests
}

func newChecker(tree fs.FS) (*checker, error) {
	c := &checker{tree: tree, words: make(map[string]struct{})}
	return c, fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "internal/proof/mutants" || name == ".git"): // its own sources contain all the names
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return c.read(name)
	})
}

// read records the string literals of a file.
func (c *checker) read(name string) error {
	text, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		for i, word := range strings.Split(line, `"`) {
			if i%2 == 1 {
				c.words[strings.ReplaceAll(word, " ", "_")] = struct{}{}
			}
		}
	}
	return nil
}

// check returns the problem with m, or nil.
func (c *checker) check(m *Mutant) error {
	if m.Name == "" || m.Change == "" || len(m.Breaks) == 0 {
		return errors.New("name, change or promises are missing")
	}
	changed, err := mutated(c.tree, m)
	if err != nil {
		return err
	}
	if path.Ext(m.File) == ".go" {
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, changed, parser.SkipObjectResolution); err != nil {
			return fmt.Errorf("it cannot be parsed: %w", err)
		}
	}
	return c.hasTest(m)
}

// hasTest searches for the test's function, and for the name of its last subtest among the string literals
// of the sources.
func (c *checker) hasTest(m *Mutant) error {
	files, err := fs.Glob(c.tree, path.Join(m.Package, "*_test.go"))
	if err != nil {
		return err
	}
	found := false
	for _, file := range files {
		text, err := fs.ReadFile(c.tree, file)
		if err != nil {
			return err
		}
		found = found || strings.Contains(string(text), "\nfunc "+m.topLevel()+"(t *testing.T)")
	}
	parts := strings.Split(m.Test, "/")
	last := parts[len(parts)-1]
	if _, named := c.words[last]; !found || len(parts) > 1 && !named {
		return fmt.Errorf("%w: %s in %s", errNoTest, m.Test, m.Package)
	}
	return nil
}
