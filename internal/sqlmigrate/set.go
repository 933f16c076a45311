package sqlmigrate

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Set is one component's migrations for one place in a database.
type Set struct {
	// Component names the owner in errors, such as "outbox".
	Component string
	// Dialect is the dialect of the database.
	Dialect sqldialect.Dialect
	// Table begins the names of all tables. It has passed sqldialect.CheckTable.
	Table string
	// FS holds the files 00001_name.sql and so on in migrations/<Dialect.Folder>.
	FS fs.FS
}

type migration struct {
	version int
	name    string
	sql     string // rendered
}

var fileName = regexp.MustCompile(`^\d{5}_[a-z0-9_]+\.sql$`)

// Latest returns the newest version of the set.
func (s Set) Latest() (int, error) {
	all, err := s.load()
	return len(all), err
}

// Export returns the migrations as files by name, for teams that keep all their schema changes in
// one tool: goose runs them as they are. Each file records its version in the table that Migrate
// reads, so that both agree, and does nothing if Migrate has run it.
func (s Set) Export() (sqlfile.Files, error) {
	all, err := s.load()
	files := make(sqlfile.Files, len(all))
	for _, m := range all {
		statements := m.statements()
		if m.version == 1 {
			statements = slices.Insert(statements, 0, s.render(createVersions))
		}
		statements = append(statements, strings.Replace(s.render(insertVersion), "?", strconv.Itoa(m.version), 1))
		files[m.name] = "-- +goose Up\n" + strings.Join(statements, ";\n") + ";\n"
	}
	return files, err
}

const (
	createVersions = "CREATE TABLE IF NOT EXISTS @{_migrations} (version INTEGER NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"
	insertVersion  = "@{insert_ignore} @{_migrations} (version, applied_at) VALUES (?, @{now})"
	lastVersion    = "SELECT COALESCE(MAX(version), 0) FROM @{_migrations}"
)

// render is for the statements above, which have no unknown token.
func (s Set) render(sql string) string {
	sql, _ = s.Dialect.Render(s.Table, sql)
	return sql
}

func (s Set) load() ([]migration, error) {
	folder := path.Join("migrations", s.Dialect.Folder)
	entries, err := fs.ReadDir(s.FS, folder) // by name, and so by version
	if err != nil {
		return nil, s.wrap(err)
	}
	all := make([]migration, 0, len(entries))
	for i, entry := range entries {
		name := entry.Name()
		if !fileName.MatchString(name) || !strings.HasPrefix(name, fmt.Sprintf("%05d_", i+1)) {
			return nil, s.wrap(fmt.Errorf("file %s is not called like %05d_name.sql", name, i+1))
		}
		text, err := fs.ReadFile(s.FS, path.Join(folder, name))
		if err != nil {
			return nil, s.wrap(err)
		}
		sql, err := s.Dialect.Render(s.Table, string(text))
		if err != nil {
			return nil, s.wrap(fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, migration{i + 1, name, sql})
	}
	return all, nil
}

// statements splits a file at semicolons that end a line. Lines that begin with two dashes
// are comments.
func (m migration) statements() []string {
	var text strings.Builder
	for line := range strings.Lines(m.sql) {
		if !strings.HasPrefix(line, "--") {
			text.WriteString(line)
		}
	}
	var all []string
	for part := range strings.SplitSeq(text.String(), ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
