package handbook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// suiteCheck matches the name of a check of a conformance suite.
var suiteCheck = regexp.MustCompile(`^(Relay_)?([A-Z][0-9]{1,2}_)+[A-Za-z0-9]+$`)

// readGo records the declarations and citations of a file.
func (s *sources) readGo(name, text string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		s.cite(name, group.Text())
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			s.readFunc(name, d)
		case *ast.GenDecl:
			s.readTypes(name, d)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if check, err := strconv.Unquote(literal.Value); err == nil && suiteCheck.MatchString(check) {
			s.checks[check] = struct{}{}
			if !strings.HasSuffix(name, "_test.go") { // tests may name checks that do not exist
				s.citeNames(name, check)
			}
		}
		return true
	})
	return nil
}

func (s *sources) readFunc(file string, f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv != nil && len(f.Recv.List) == 1 {
		name = receiver(f.Recv.List[0].Type) + "." + name
	}
	s.declared[file] = append(s.declared[file], name)
	if strings.HasSuffix(file, "_test.go") && strings.HasPrefix(name, "Test") {
		s.checks[name] = struct{}{}
		s.citeNames(file, strings.TrimPrefix(name, "Test"))
	}
}

// readTypes records the methods of interfaces.
func (s *sources) readTypes(file string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		of, ok := t.Type.(*ast.InterfaceType)
		if !ok {
			continue
		}
		for _, method := range of.Methods.List {
			for _, name := range method.Names {
				s.declared[file] = append(s.declared[file], t.Name.Name+"."+name.Name)
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}
