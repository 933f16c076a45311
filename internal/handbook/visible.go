package handbook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NamesPage is the page with the names that users see outside Go.
const NamesPage = "docs/internals/names.md"

// schema is a migration file, with the heading and the default name of its tables.
type schema struct{ file, heading, table string }

// schemas returns the migrations whose tables NamesPage lists. SQLite has the same tables as MySQL.
func schemas() []schema {
	return []schema{
		{"outbox/pgoutbox/migrations/00001_outbox.sql", "Outbox on PostgreSQL, in the schema `leat`", "outbox"},
		{"inbox/internal/pgschema/migrations/00001_inbox.sql", "Inbox on PostgreSQL, in the schema `leat`", "inbox"},
		{"dedupe/pgdedupe/migrations/00001_dedupe.sql", "`pgdedupe`, in the schema `leat`", "dedupe"},
		{"dedupe/pgdedupe/http/migrations/00001_http.sql", "`pgdedupe.TxStore`, in the schema `leat`", "http_responses"},
		{"outbox/wmforward/migrations/00001_state.sql", "`wmforward`, beside the forwarder's table of a topic", "watermill_orders_leat"},
		{"outbox/sqloutbox/migrations/mysql/00001_init.sql", "Outbox on MySQL, MariaDB and SQLite", "leat_outbox"},
		{"inbox/sqlinbox/migrations/mysql/00001_init.sql", "Inbox on MySQL, MariaDB and SQLite", "leat_inbox"},
		{"dedupe/sqldedupe/migrations/mysql/00001_init.sql", "`sqldedupe`", "leat_dedupe"},
		{"outbox/sqlforward/migrations/mysql/00001_init.sql", "`sqlforward`", "leat_forward"},
	}
}

var (
	created   = regexp.MustCompile(`(?s)((?:--[^\n]*\n)*\n?)CREATE (TABLE|VIEW|FUNCTION) (?:IF NOT EXISTS )?@\{(_?[a-z_]*)\}(.*?);\n`)
	described = regexp.MustCompile(`(?s)COMMENT ON FUNCTION @\{(_[a-z_]+)\}\([^)]*\)\s+IS '([^']*)'`)
	column    = regexp.MustCompile(`(?m)^ +([a-z_]+) +"?[a-zA-Z]`)
)

// TablesOf returns the part of NamesPage that is generated from the migrations. For each schema it lists
// the tables, the views and the functions that callers name, with the descriptions from the files.
func TablesOf(tree fs.FS) (string, error) {
	var page strings.Builder
	for _, schema := range schemas() {
		raw, err := fs.ReadFile(tree, schema.file)
		if err != nil {
			return "", err
		}
		text := string(raw)
		fmt.Fprintf(&page, "\n### %s\n\n| name | what it is | columns |\n|---|---|---|\n", schema.heading)
		for _, found := range created.FindAllStringSubmatch(text, -1) {
			comment, kind, suffix, body := found[1], found[2], found[3], found[4]
			if kind == "FUNCTION" || strings.Contains(body, "PARTITION OF") {
				continue
			}
			columns := []string{"a view"}
			if kind == "TABLE" {
				columns = columnsOf(body)
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", schema.table+suffix, firstSentence(comment), strings.Join(columns, " "))
		}
		for _, found := range described.FindAllStringSubmatch(text, -1) {
			fmt.Fprintf(&page, "| `%s` | %s | a function |\n", schema.table+found[1], found[2])
		}
		fmt.Fprintf(&page, "| `%s_migrations` | Versions of the schema. | |\n", schema.table)
	}
	return page.String(), nil
}

// columnsOf returns the columns of a table, in backticks.
func columnsOf(body string) (names []string) {
	for _, one := range column.FindAllStringSubmatch(body, -1) {
		names = append(names, "`"+one[1]+"`")
	}
	return names
}

// firstSentence returns the first sentence of a comment in SQL.
func firstSentence(comment string) string {
	var words []string
	for line := range strings.Lines(comment) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "- "))...)
	}
	text := strings.Join(words, " ")
	if first, _, ok := strings.Cut(text, ". "); ok {
		return first + "."
	}
	return text
}

// Visible compares the attributes of log lines and the headers in the sources with NamesPage. It returns
// those that only one of them has, one finding per string, and how many there are in all.
func Visible(tree fs.FS) (wrong []string, looked int, err error) {
	raw, err := fs.ReadFile(tree, NamesPage)
	if err != nil {
		return nil, 0, err
	}
	attributes, headers := map[string]struct{}{}, map[string]struct{}{}
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && !runsAtUsers(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil {
			collect(file, attributes, headers)
		}
		return err
	})
	page := string(raw)
	wrong = append(differ("attribute", attributes, firstCells(page, "## Log attributes")), differ("header", headers, firstCells(page, "## Headers"))...)
	return wrong, len(attributes) + len(headers), err
}

// runsAtUsers reports whether the code in a directory runs in users' programs.
func runsAtUsers(dir string) bool {
	return !slices.Contains([]string{"examples", "benchmarks", "docs", "internal/proof", "internal/testenv", "internal/handbook"}, dir) &&
		!strings.HasSuffix(path.Base(dir), "test") && path.Base(dir) != "testdata" && !strings.HasPrefix(path.Base(dir), ".")
}

// collect adds the attributes in calls such as slog.String("topic", …), and the headers in constants such
// as HeaderKey.
func collect(file *ast.File, attributes, headers map[string]struct{}) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			of, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) < 2 {
				return true
			}
			if in, ok := of.X.(*ast.Ident); ok && in.Name == "slog" {
				if text, ok := literal(n.Args[0]); ok {
					attributes[text] = struct{}{}
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				lower := strings.ToLower(name.Name)
				if i < len(n.Values) && (strings.HasPrefix(lower, "header") || strings.HasSuffix(lower, "header")) {
					if text, ok := literal(n.Values[i]); ok {
						headers[text] = struct{}{}
					}
				}
			}
		}
		return true
	})
}

// literal returns the text of a literal.
func literal(value ast.Expr) (string, bool) {
	basic, ok := value.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// firstCells returns the texts between backticks in the first cells of a section's tables.
func firstCells(page, heading string) map[string]struct{} {
	_, section, _ := strings.Cut(page, heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all := map[string]struct{}{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range spans(cells[1]) {
				all[name] = struct{}{}
			}
		}
	}
	return all
}

// differ returns findings about names that only one of the sets contains.
func differ(what string, sources, page map[string]struct{}) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if _, ok := page[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s is not on the page", NamesPage, what, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(page)) {
		if _, ok := sources[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s is not in the sources", NamesPage, what, name))
		}
	}
	return wrong
}
