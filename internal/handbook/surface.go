package handbook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// MaxNames is the most names that a package may show its users: functions, types, constants and variables.
// Methods and fields are not counted, since they belong to their types.
const MaxNames = 60

// Surface returns the packages of a tree that show users more than MaxNames names, one finding per string,
// and the number of packages that it has checked. Not for users are packages for authors of adapters
// (driver), suites, programs, internal packages, and other modules that only show or measure something.
func Surface(tree fs.FS) (wide []string, looked int, err error) {
	names := map[string]int{}
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && !forUsers(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil && file.Name.Name != "main" {
			names[path.Dir(name)] += exported(file)
		}
		return err
	})
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		if n := names[dir]; n > MaxNames {
			wide = append(wide, fmt.Sprintf("%s shows %d names, and %d are enough", dir, n, MaxNames))
		}
	}
	return wide, len(names), err
}

// forUsers reports whether users import the package in a directory.
func forUsers(dir string) bool {
	base := path.Base(dir)
	return !slices.Contains([]string{"examples", "benchmarks", "docs"}, dir) &&
		!slices.Contains([]string{"internal", "driver", "testdata"}, base) &&
		!strings.HasSuffix(base, "test") && !strings.HasPrefix(base, ".")
}

// exported returns the number of exported names in a file, without methods.
func exported(file *ast.File) (n int) {
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						count(name)
					}
				}
			}
		}
	}
	return n
}
