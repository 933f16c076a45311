package hooks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// elsewhere are the folders that have no hooks of the library: other modules, and what is
// nobody's to see.
var elsewhere = map[string]bool{
	"examples": true, "benchmarks": true, "docs": true, "internal": true, "testdata": true,
}

// interfaces returns the exported interfaces of the library that are called …Hook, as
// package.Name.
func interfaces(t *testing.T) map[string]*ast.InterfaceType {
	t.Helper()
	const root = "../.."
	found := map[string]*ast.InterfaceType{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (elsewhere[d.Name()] || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !strings.HasSuffix(spec.Name.Name, "Hook") {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				found[file.Name.Name+"."+spec.Name.Name] = i
			}
			return true
		})
		return nil
	}))
	return found
}

// title is s with a capital.
func title(s string) string { return string(unicode.ToUpper(rune(s[0]))) + s[1:] }

// TestConvention: a hook has one method, named after its package and its event, which
// takes a context and the event.
func TestConvention(t *testing.T) {
	t.Parallel()
	found := interfaces(t)
	require.Greater(t, len(found), 15)
	for name, hook := range found {
		pkg, event, _ := strings.Cut(strings.TrimSuffix(name, "Hook"), ".")
		require.Len(t, hook.Methods.List, 1, name)
		method := hook.Methods.List[0]
		require.Len(t, method.Names, 1, name)
		require.Equal(t, "On"+title(pkg)+event, method.Names[0].Name, name)
		require.NotNil(t, method.Doc, name)
		signature, ok := method.Type.(*ast.FuncType)
		require.True(t, ok, name)
		require.Nil(t, signature.Results, name)
		require.Len(t, signature.Params.List, 2, name)
		argument, ok := signature.Params.List[1].Type.(*ast.Ident)
		require.True(t, ok, name)
		require.Equal(t, event+"Event", argument.Name, name)
	}
}

// TestCollectorIsEveryHook: no hook of the library is missing in collector, so that one type
// can observe everything.
func TestCollectorIsEveryHook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("collector_test.go")
	require.NoError(t, err)
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\t_ (?:inbox)?(\w+\.\w+Hook) += \(\*collector\)\(nil\)$`).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(interfaces(t))), listed)
}

// TestConvention_IsDocumented: docs/hooks.md lists every hook, and no other.
func TestConvention_IsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/hooks.md")
	require.NoError(t, err)
	var listed, there []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(On\\w+)` \\| `([\\w.]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1]+" "+row[2])
	}
	for name, hook := range interfaces(t) {
		there = append(there, hook.Methods.List[0].Names[0].Name+" "+name)
	}
	require.ElementsMatch(t, there, listed)
}
