package testlevel

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of Scan. Each one contains the place and says what to do.
var (
	// ErrNoLevel is returned for a package whose tests have no level.
	ErrNoLevel = errors.New("testlevel: a package has no default level")
	// ErrDirective is returned for an invalid directive.
	ErrDirective = errors.New("testlevel: a directive cannot be obeyed")
)

// Test is a test, an example or a fuzz test.
type Test struct {
	Name  string
	Level Level
}

// Package is a directory with tests.
type Package struct {
	// Dir and Module are slash-separated paths from the root; "." is the root itself.
	Dir, Module string
	Tests       []Test
}

// Level returns the level of the test called name, and whether there is such a test.
func (p *Package) Level(name string) (Level, bool) {
	i := slices.IndexFunc(p.Tests, func(t Test) bool { return t.Name == name })
	if i < 0 {
		return 0, false
	}
	return p.Tests[i].Level, true
}

// Scan returns all packages of a tree that have tests, of all its modules, by directory. It reads
// every test file, whatever its build constraints. Its error lists every problem.
func Scan(tree fs.FS) ([]*Package, error) {
	var packages []*Package
	var wrong []error
	modules := map[string]string{} // by directory
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if base := entry.Name(); name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
			return fs.SkipDir
		}
		modules[name] = modules[path.Dir(name)]
		if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
			modules[name] = name
		}
		p, err := scanPackage(tree, name)
		if p != nil {
			p.Module = modules[name]
			packages = append(packages, p)
		}
		if errors.Is(err, ErrNoLevel) || errors.Is(err, ErrDirective) {
			wrong = append(wrong, err)
			err = nil
		}
		return err
	})
	if err := errors.Join(append(wrong, err)...); err != nil {
		return nil, err
	}
	return packages, nil
}

// scanPackage returns nil if dir has no tests.
func scanPackage(tree fs.FS, dir string) (*Package, error) {
	files, err := fs.Glob(tree, path.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	s := scan{Package: Package{Dir: dir}, files: token.NewFileSet()}
	for _, name := range files {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("testlevel: %w", err)
		}
		if err := s.file(file); err != nil {
			return nil, err
		}
	}
	if len(s.Tests) == 0 {
		return nil, nil //nolint:nilnil // most directories have no tests
	}
	if s.standard == nil {
		return nil, fmt.Errorf("%w: %s: write //leat:level 0 (1, 2, 4) above its func TestMain", ErrNoLevel, dir)
	}
	for i := range s.Tests {
		if !s.own[s.Tests[i].Name] {
			s.Tests[i].Level = *s.standard
		}
	}
	slices.SortFunc(s.Tests, func(a, b Test) int { return strings.Compare(a.Name, b.Name) })
	return &s.Package, nil
}

// scan is the state while a package is read.
type scan struct {
	Package

	files    *token.FileSet
	standard *Level
	own      map[string]bool // tests with a level of their own
}

func (s *scan) file(file *ast.File) error {
	used := map[*ast.CommentGroup]bool{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != "TestMain" && !isTest(f.Name.Name) {
			continue
		}
		used[f.Doc] = true
		if err := s.function(f); err != nil {
			return err
		}
	}
	for _, group := range file.Comments {
		if used[group] {
			continue
		}
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//leat:") {
				return s.wrong(comment, "it stands above TestMain, a test, an example or a fuzz test")
			}
		}
	}
	return nil
}

// function records a test with its directive, or the default of the package.
func (s *scan) function(f *ast.FuncDecl) error {
	level, err := s.directives(f)
	if err != nil {
		return err
	}
	name := f.Name.Name
	if name == "TestMain" {
		if level != nil {
			s.standard = level
		}
		return nil
	}
	if level != nil {
		if s.own == nil {
			s.own = map[string]bool{}
		}
		s.own[name] = true
		s.Tests = append(s.Tests, Test{Name: name, Level: *level})
		return nil
	}
	if _, twice := s.Level(name); !twice { // the file for another system has the same test
		s.Tests = append(s.Tests, Test{Name: name})
	}
	return nil
}

// directives returns the level in the comment of f, or nil.
func (s *scan) directives(f *ast.FuncDecl) (*Level, error) {
	if f.Doc == nil {
		return nil, nil //nolint:nilnil // most tests have the level of their package
	}
	var level *Level
	for _, comment := range f.Doc.List {
		directive, ok := strings.CutPrefix(comment.Text, "//leat:")
		if !ok {
			continue
		}
		value, isLevel := strings.CutPrefix(directive, "level ")
		switch {
		case !isLevel:
			return nil, s.wrong(comment, "the only one is //leat:level N")
		case level != nil:
			return nil, s.wrong(comment, "the function has a level already")
		default:
			l, err := ParseLevel(strings.TrimSpace(value))
			if err != nil {
				return nil, s.wrong(comment, err.Error())
			}
			level = &l
		}
	}
	return level, nil
}

func (s *scan) wrong(comment *ast.Comment, what string) error {
	return fmt.Errorf("%w: %s: %s: %s", ErrDirective, s.files.Position(comment.Pos()), comment.Text, what)
}

// isTest reports whether go test runs the function called name.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Example", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}
