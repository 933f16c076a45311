// Package sqlfile loads the SQL statements that a package keeps in embedded files.
package sqlfile

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Load sets each target to the statement of the file sql/<name>.sql, as render returns it. The
// comment at the start of a file is for readers, and is not sent to the server.
func Load(files fs.FS, render func(sql string) (string, error), targets map[string]*string) error {
	for name, target := range targets {
		sql, err := read(files, name)
		if err == nil {
			*target, err = render(sql)
		}
		if err != nil {
			return fmt.Errorf("leat: statement %s: %w", name, err)
		}
	}
	return nil
}

// LoadAll is Load for statements that are looked up by their names.
func LoadAll(files fs.FS, render func(sql string) (string, error), names ...string) (map[string]string, error) {
	loaded := make(map[string]string, len(names))
	for _, name := range names {
		var sql string
		if err := Load(files, render, map[string]*string{name: &sql}); err != nil {
			return nil, err
		}
		loaded[name] = sql
	}
	return loaded, nil
}

func read(files fs.FS, name string) (string, error) {
	raw, err := fs.ReadFile(files, path.Join("sql", name+".sql"))
	sql := string(raw)
	for strings.HasPrefix(sql, "--") {
		_, sql, _ = strings.Cut(sql, "\n")
	}
	return strings.TrimSpace(sql), err
}
