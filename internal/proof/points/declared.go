package points

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/failpoint"
)

// namesFile is the path of the file that declares the points, from the root.
const namesFile = "internal/failpoint/names.go"

// Declared is a point as the source declares it.
type Declared struct {
	// Name is the point.
	Name failpoint.Name
	// Const is the name of the constant. Says is its comment without that name.
	Const, Says string
}

// Declarations returns the points that a tree declares, in the order of the source.
func Declarations(root string) ([]Declared, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, namesFile), nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []Declared
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			d, err := declared(spec)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
	}

	return all, nil
}

func declared(spec ast.Spec) (d Declared, err error) {
	value, ok := spec.(*ast.ValueSpec)
	if !ok || len(value.Names) != 1 || len(value.Values) != 1 {
		return d, nil
	}
	literal, ok := value.Values[0].(*ast.BasicLit)
	if !ok {
		return d, nil
	}
	name, err := strconv.Unquote(literal.Value)
	d.Name, d.Const = failpoint.Name(name), value.Names[0].Name
	d.Says = strings.TrimPrefix(strings.Join(strings.Fields(value.Doc.Text()), " "), d.Const+" ")

	return d, err
}
