package pgmigrate

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

// Set is one component's migrations for one place in a database. It is a value
// and safe for concurrent use.
type Set struct {
	// Component names the owner in errors, such as "outbox".
	Component string
	// Names are the configured schema and table.
	Names
	// FS holds the files in its root, and nothing else that ends in .sql.
	FS fs.FS
}

// migration is one file.
type migration struct {
	version int
	name    string // the file's name
	sql     string // rendered
}

var fileName = regexp.MustCompile(`^(\d{5})_[a-z0-9_]+\.sql$`)

// Validate checks the names that the set would create, without a database.
func (s Set) Validate() error {
	_, err := s.load()
	return err
}

// Latest returns the newest version of the set, which the library was written
// for.
func (s Set) Latest() (int, error) {
	all, err := s.load()
	return len(all), err
}

// load reads and renders all migrations in the order of their versions.
func (s Set) load() ([]migration, error) {
	if err := s.Names.Validate(versionSuffix); err != nil {
		return nil, err
	}
	files, err := fs.Glob(s.FS, "*.sql") // sorted by name, and so by version
	if err != nil {
		return nil, s.wrap("list migrations", err)
	}
	if len(files) == 0 {
		return nil, s.wrap("list migrations", errors.New("there are none"))
	}
	all := make([]migration, 0, len(files))
	for i, file := range files {
		m, err := s.read(file)
		if err != nil {
			return nil, err
		}
		if m.version != i+1 {
			return nil, s.wrap("list migrations", fmt.Errorf("file %s should have version %d", file, i+1))
		}
		all = append(all, m)
	}
	return all, nil
}

func (s Set) read(file string) (migration, error) {
	parts := fileName.FindStringSubmatch(file)
	if parts == nil {
		return migration{}, s.wrap("list migrations", fmt.Errorf("file %s is not called like 00001_name.sql", file))
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil {
		return migration{}, s.wrap("list migrations", err)
	}
	text, err := fs.ReadFile(s.FS, file)
	if err != nil {
		return migration{}, s.wrap("read migration", err)
	}
	if err := s.Names.Validate(suffixes(string(text))...); err != nil {
		return migration{}, err
	}
	sql, err := s.Render(string(text))
	if err != nil {
		return migration{}, s.wrap("migration "+file, err)
	}
	return migration{version: version, name: file, sql: sql}, nil
}

func (s Set) wrap(what string, err error) error {
	return fmt.Errorf("leat: %s: %s: %w", s.Component, what, err)
}
