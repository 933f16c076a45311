package handbook

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// sources holds the facts about a tree that the checks need.
type sources struct {
	paths    map[string]struct{} // paths of all files and directories
	packages map[string]struct{} // directories that hold Go files
	pages    map[string]string   // text of the pages, by path
	declared map[string][]string // functions, such as Outbox.Enqueue, by file
	checks   map[string]struct{} // names of tests, and of checks of the suites
	cited    []citation
	targets  map[string]struct{} // targets of make
}

// citation is a rule or a decision that a file cites.
type citation struct {
	file, name string
}

// read reads a tree, without the files in testdata.
func read(tree fs.FS) (*sources, error) {
	src := &sources{
		paths: map[string]struct{}{}, packages: map[string]struct{}{}, pages: map[string]string{},
		declared: map[string][]string{}, checks: map[string]struct{}{}, targets: map[string]struct{}{},
	}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isHidden(entry.Name()):
			return fs.SkipDir
		}
		if name != "." {
			src.paths[name] = struct{}{}
		}
		if entry.IsDir() || strings.Contains(name, "/testdata/") {
			return nil
		}
		return src.readFile(tree, name)
	})
	return src, err
}

// isHidden reports whether a directory belongs to a tool, such as .git or .idea.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".ci"
}

func (s *sources) readFile(tree fs.FS, name string) error {
	ext := path.Ext(name)
	if !slices.Contains([]string{".go", ".sql", ".lua", ".md"}, ext) && name != "Makefile" {
		return nil
	}
	raw, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	text := string(raw)
	switch {
	case ext == ".go":
		s.packages[path.Dir(name)] = struct{}{}
		return s.readGo(name, text)
	case ext == ".md":
		s.pages[name] = text
		s.citeDecisions(name, text)
	case name == "Makefile":
		for line := range strings.Lines(text) {
			if target, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(target, " \t.=$") {
				s.targets[target] = struct{}{}
			}
		}
	default: // SQL and Lua
		for line := range strings.Lines(text) {
			if _, comment, ok := strings.Cut(line, "--"); ok {
				s.cite(name, comment)
			}
		}
	}
	return nil
}
