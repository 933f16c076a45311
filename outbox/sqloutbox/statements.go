package sqloutbox

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// statements are those of sql/, by their names, rendered. {list} in one stands for a list
// that is as long as it has to be.
type statements map[string]string

func loadStatements(d sqldialect.Dialect, table string) (statements, error) {
	files, err := fs.Glob(statementFiles, "sql/*.sql")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".sql")
	}
	return sqlfile.LoadAll(statementFiles, func(sql string) (string, error) { return d.Render(table, sql) }, names...)
}

// with returns a statement with its list.
func (s statements) with(name, list string) string {
	return strings.Replace(s[name], "{list}", list, 1)
}

// rows returns an INSERT of n rows: what follows VALUES is repeated.
func (s statements) rows(name string, n int) string {
	sql := s[name]
	head, row, _ := strings.Cut(sql, "VALUES ")
	return head + "VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
}
