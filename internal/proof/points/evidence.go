package points

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tests are the top-level declarations in the test files of a directory, by name. Methods of the same name
// share an entry.
type tests map[string][]ast.Node

// parseTests reads the tests of a directory, whatever their build tags.
func parseTests(dir string) (tests, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := tests{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			all.add(decl)
		}
	}

	return all, nil
}

func (t tests) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		t[d.Name.Name] = append(t[d.Name.Name], d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range v.Names {
					t[name.Name] = append(t[name.Name], v)
				}
			}
		}
	}
}

// words returns the words of a test and of everything that it may call in its package's tests: names,
// names of other packages as package.Name, and string literals.
func (t tests) words(test string) (map[string]struct{}, error) {
	if len(t[test]) == 0 {
		return nil, fmt.Errorf("there is no test %s", test)
	}
	words := map[string]struct{}{}
	todo := []string{test}
	visited := map[string]bool{test: true}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, node := range t[name] {
			ast.Inspect(node, func(n ast.Node) bool {
				for _, word := range wordsOf(n) {
					words[word] = struct{}{}
					if len(t[word]) > 0 && !visited[word] {
						visited[word] = true
						todo = append(todo, word)
					}
				}

				return true
			})
		}
	}

	return words, nil
}

func wordsOf(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.Ident:
		return []string{n.Name}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok {
			return []string{x.Name + "." + n.Sel.Name}
		}
	case *ast.BasicLit:
		if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
			return []string{text}
		}
	}

	return nil
}
