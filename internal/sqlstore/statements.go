package sqlstore

import (
	"context"
	"embed"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var ownFiles embed.FS

// Statements are the statements of sql/, by their names, rendered. {list} in a statement stands for
// a list of variable length, or for conditions.
type Statements map[string]string

func load(d sqldialect.Dialect, table string, all []fs.FS) (Statements, error) {
	found := Statements{}
	for _, files := range all {
		paths, err := fs.Glob(files, "sql/*.sql")
		if err != nil {
			return nil, err
		}
		names := make([]string, len(paths))
		for i, file := range paths {
			names[i] = strings.TrimSuffix(path.Base(file), ".sql")
		}
		some, err := sqlfile.LoadAll(files, func(sql string) (string, error) { return d.Render(table, sql) }, names...)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, some)
	}
	return found, nil
}

// With returns a statement with its list.
func (s Statements) With(name, list string) string {
	return strings.Replace(s[name], "{list}", list, 1)
}

// List returns a statement with n parameters in its list.
func (s Statements) List(name string, n int) string {
	return s.With(name, sqldialect.Places(n))
}

// Rows returns an INSERT of n rows: the part after VALUES is repeated.
func (s Statements) Rows(name string, n int) string {
	head, row, _ := strings.Cut(s[name], "VALUES ")
	return head + "VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
}

// Exec runs a statement by its name and returns how many rows it has written.
func (s *Store) Exec(ctx context.Context, q Querier, name string, args ...any) (int64, error) {
	return Written(ctx, q, s.SQL[name], args...)
}
