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
	"strconv"
	"strings"
)

// module is the path of leat's packages, in all of its modules.
const module = "github.com/leat-go/leat/"

// arms lists, by package, the functions that arm failure points or replace the source of random waits.
// These packages may import only the listed packages, so they cannot read the environment, a flag or a
// file.
//
//nolint:gochecknoglobals // a table
var arms = map[string]struct {
	function string
	imports  []string
}{
	"internal/failpoint": {"Install", []string{"context", "sync/atomic"}},
	"internal/jitter":    {"SetSource", []string{"math", "math/rand/v2", "time"}},
}

// mayArm lists the directories of packages that only tests and test programs link.
//
//nolint:gochecknoglobals // a table
var mayArm = []string{"internal/failpoint/failpointtest", "internal/proof"}

// Armed returns the packages of a tree that users can build and that link code which arms failure points
// or replaces the source of jitter, one finding per string. It looks at all files except tests, whatever
// their build tags.
func Armed(tree fs.FS) ([]string, error) {
	a := &armed{importers: map[string][]string{}, why: map[string]string{}}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (isHidden(entry.Name()) || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		return a.read(tree, name)
	})
	a.spread()
	for _, dir := range slices.Sorted(maps.Keys(a.why)) {
		if !slices.ContainsFunc(mayArm, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }) {
			a.wrong = append(a.wrong, fmt.Sprintf("%s %s, and only tests and test programs may", dir, a.why[dir]))
		}
	}
	return a.wrong, err
}

// armed contains facts about a tree's packages.
type armed struct {
	importers map[string][]string // by package, the packages that import it
	why       map[string]string   // by package, how it links code that arms
	wrong     []string
}

func (a *armed) read(tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if own, ok := arms[dir]; ok && !slices.Contains(own.imports, imported) {
			a.wrong = append(a.wrong, fmt.Sprintf("%s imports %s, and must not read what could arm it", dir, imported))
		}
		below, ours := strings.CutPrefix(imported, module)
		if !ours {
			continue
		}
		a.importers[below] = append(a.importers[below], dir)
		if to, ok := arms[below]; ok && names(file, spec, to.function) {
			a.why[dir] = "names " + path.Base(below) + "." + to.function
		}
	}
	return nil
}

// names reports whether a file refers to a function of the package that spec imports.
func names(file *ast.File, spec *ast.ImportSpec, function string) (found bool) {
	local := strings.Trim(path.Base(spec.Path.Value), `"`)
	if spec.Name != nil {
		local = spec.Name.Name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			found = found || ok && x.Name == local && n.Sel.Name == function
		case *ast.Ident:
			found = found || local == "." && n.Name == function
		}
		return !found
	})
	return found
}

// spread adds every package that imports a package that links code which arms.
func (a *armed) spread() {
	todo := slices.Collect(maps.Keys(a.why))
	for len(todo) > 0 {
		dir := todo[0]
		todo = todo[1:]
		for _, importer := range a.importers[dir] {
			if _, known := a.why[importer]; !known {
				a.why[importer] = "links " + dir
				todo = append(todo, importer)
			}
		}
	}
}
