package pgmigrate

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Export returns the migrations as files that goose and tern run as they are,
// for teams that keep all their schema changes in one tool. Each file records
// its version in our version table too, so that Status, Require and Migrate
// agree with what the tool has done. Like ours, the files only go forward:
// there is no Down section, since it would drop messages.
//
// Both tools count versions of their own; give the files a directory and a
// version table to themselves, or renumber them. Files must run in order, each
// in a transaction, which is the default of both.
func (s Set) Export() (fs.FS, error) {
	all, err := s.load()
	if err != nil {
		return nil, err
	}
	files := make(sqlfile.Files, len(all))
	for _, m := range all {
		text := s.export(m)
		if strings.Contains(text, "{{") {
			return nil, s.wrap("export "+m.name, errors.New("the SQL contains {{, which tern would take for a template"))
		}
		files[m.name] = text
	}
	return files, nil
}

// pinPath sets the search path for a file, as Migrate does, and freePath restores the tool's own:
// the tool records its version in the same transaction.
const (
	pinPath = `SELECT pg_catalog.set_config('leat.search_path', pg_catalog.current_setting('search_path'), true),
       pg_catalog.set_config('search_path', '` + pgpin.SearchPath + `', true);
`
	freePath = `SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('leat.search_path'), true);
`
)

func (s Set) export(m migration) string {
	var b strings.Builder
	b.WriteString("-- +goose Up\n-- +goose StatementBegin\nSET LOCAL lock_timeout = '5s';\n")
	b.WriteString(pinPath)
	if m.version == 1 {
		fmt.Fprintf(&b, "CREATE SCHEMA IF NOT EXISTS %s;\n", pgx.Identifier{s.Schema}.Sanitize())
		fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s;\n", s.versionTable())
	}
	b.WriteString(strings.TrimSpace(m.sql))
	fmt.Fprintf(&b, "\nINSERT INTO %s (version, name) VALUES (%d, %s);\n", s.Qualified(versionSuffix), m.version, literal(m.name))
	b.WriteString(freePath)
	b.WriteString("-- +goose StatementEnd\n")
	return b.String()
}
