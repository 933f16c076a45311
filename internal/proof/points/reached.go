package points

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where code reaches a point.
type Place struct {
	// File is the path from the root, with slashes.
	File string
	// Func is the name of the function, without its receiver.
	Func string
}

// Reached returns the places at which the code of a tree, without its tests, reaches points. They are the
// functions that call failpoint.Inject and name a point. The keys are the names of the points' constants.
func Reached(root string) (map[string][]Place, error) {
	reached := map[string][]Place{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		if entry.IsDir() && below != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || below == "internal/proof") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(below, ".go") || strings.HasSuffix(below, "_test.go") {
			return nil
		}

		return reachedIn(path, below, reached)
	})

	return reached, err
}

func reachedIn(path, below string, reached map[string][]Place) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		names := selected(f, "failpoint")
		if !slices.Contains(names, "Inject") {
			continue
		}
		for _, name := range names {
			place := Place{File: below, Func: f.Name.Name}
			if !slices.Contains(reached[name], place) {
				reached[name] = append(reached[name], place)
			}
		}
	}

	return nil
}

// selected returns the names of package pkg that node uses.
func selected(node ast.Node, pkg string) (names []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg {
				names = append(names, s.Sel.Name)
			}
		}

		return true
	})

	return names
}
