package cli

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Migrate are the commands about schemas.
type Migrate struct {
	Up     MigrateUp     `cmd:"" help:"Create or upgrade the schemas."`
	Status MigrateStatus `cmd:"" help:"Versions of the schemas; exit status 5 if one is behind."`
	SQL    MigrateSQL    `cmd:"" name:"sql" help:"Print the migrations, for other tools."`
}

// Component are the flags of schemas.
type Component struct {
	Component []string `placeholder:"NAME" enum:"outbox,inbox,dedupe" help:"outbox, inbox or dedupe; repeat it. Defaults to outbox and inbox."`
}

func (c Component) names() []string {
	if len(c.Component) == 0 {
		return []string{"outbox", "inbox"}
	}
	return c.Component
}

// schemaRow is the JSON of a schema.
type schemaRow struct {
	Component string `json:"component"`
	Current   int    `json:"current"`
	Latest    int    `json:"latest"`
	Behind    bool   `json:"behind"`
}

func (s schemaRow) state() string {
	switch {
	case s.Current == 0:
		return "missing"
	case s.Behind:
		return "behind"
	case s.Current > s.Latest:
		return "of a newer release"
	default:
		return "up to date"
	}
}

func schemaList() show.List[schemaRow] {
	return show.List[schemaRow]{Name: "schemas", Columns: []show.Column[schemaRow]{
		textColumn("SCHEMA", func(s schemaRow) string { return s.Component }),
		countColumn("VERSION", func(s schemaRow) int64 { return int64(s.Current) }),
		countColumn("LATEST", func(s schemaRow) int64 { return int64(s.Latest) }),
		textColumn("STATE", schemaRow.state),
	}}
}

// schemas looks at the versions of all of names.
func schemas(d *Deps, db open.Database, names []string) ([]schemaRow, bool, error) {
	var rows []schemaRow
	behind := false
	for _, name := range names {
		component, err := db.Component(name)
		if err != nil {
			return nil, false, err
		}
		current, latest, err := component.Status(d.Context)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
		row := schemaRow{name, current, latest, current < latest}
		rows = append(rows, row)
		behind = behind || row.Behind
	}
	return rows, behind, nil
}

// MigrateStatus is migrate status.
type MigrateStatus struct{ Component }

// Run prints the versions.
func (m *MigrateStatus) Run(d *Deps) error {
	db, err := d.Open()
	if err != nil {
		return err
	}
	rows, behind, err := schemas(d, db, m.names())
	if err != nil {
		return err
	}
	if err := schemaList().Print(d.Printer, rows, ""); err != nil {
		return err
	}
	if behind {
		return errFindings
	}
	return nil
}

// MigrateUp is migrate up. It needs no reason, since no audit could store it.
type MigrateUp struct {
	Component

	LockTimeout Span `default:"5s" placeholder:"DURATION" help:"Bound of each wait for a lock, 1ms or more."`
	DryRun      bool `help:"Say what would be changed, and change nothing."`
	Yes         bool `short:"y" help:"Do not ask for confirmation. Required if standard input is no terminal."`
}

// Run brings the schemas to their latest versions.
func (m *MigrateUp) Run(d *Deps) error {
	if time.Duration(m.LockTimeout) < time.Millisecond {
		return usage("--lock-timeout", time.Duration(m.LockTimeout).String(), "must be at least 1ms")
	}
	db, err := d.openFor(open.Target{LockTimeout: time.Duration(m.LockTimeout), Create: !m.DryRun})
	if err != nil {
		return err
	}
	rows, behind, err := schemas(d, db, m.names())
	if err != nil {
		return err
	}
	if m.DryRun || !behind {
		return schemaList().Print(d.Printer, rows, "")
	}
	var steps []string
	for _, row := range rows {
		if row.Behind {
			steps = append(steps, fmt.Sprintf("%s from %d to %d", row.Component, row.Current, row.Latest))
		}
	}
	if err := d.confirm(Changing{Yes: m.Yes}, ask.Question{Text: "Would migrate " + strings.Join(steps, ", ") + "."}); err != nil {
		return err
	}
	for _, name := range m.names() {
		component, err := db.Component(name)
		if err != nil {
			return err
		}
		if err := d.bar("migrating "+name, "", 0).Spin(func() error { return component.Migrate(d.Context) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	rows, _, err = schemas(d, db, m.names())
	if err != nil {
		return err
	}
	return schemaList().Print(d.Printer, rows, "")
}

// MigrateSQL is migrate sql.
type MigrateSQL struct {
	Component

	For string `placeholder:"PRODUCT" enum:",postgres,mysql,mariadb,sqlite" default:"" help:"postgres, mysql, mariadb or sqlite. Defaults to the product of the database, if one is named, or postgres."`
}

// nowhere returns the URL of no database of the product.
func (m *MigrateSQL) nowhere(database string) string {
	product := m.For
	if product == "" {
		product = settings.Scheme(database)
	}
	if product == "sqlite" {
		return "sqlite:none"
	}
	return product + "://none/none"
}

// Run prints the files of the migrations, which goose and tern run as they are. It needs
// no database.
func (m *MigrateSQL) Run(d *Deps) error {
	url := m.nowhere(d.settings.Database.Value)
	s := d.settings.At(url)
	db, err := open.Open(d.Context, open.Target{
		URL: url, Offline: true, Schema: s.Schema.Value, Outbox: s.Outbox.Value, Inbox: s.Inbox.Value, Dedupe: s.Dedupe.Value, Logger: d.logger,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	var all []fileRow
	for _, name := range m.names() {
		component, err := db.Component(name)
		if err != nil {
			return err
		}
		files, err := component.Files()
		if err != nil {
			return err
		}
		if all, err = appendFiles(all, name, files); err != nil {
			return err
		}
	}
	if d.Format != show.Table {
		return show.List[fileRow]{Name: "files"}.Print(d.Printer, all, "")
	}
	for _, f := range all {
		if err := d.Line("-- %s/%s\n%s", f.Component, f.File, f.SQL); err != nil {
			return err
		}
	}
	return nil
}

// fileRow is the JSON of a migration.
type fileRow struct {
	Component string `json:"component"`
	File      string `json:"file"`
	SQL       string `json:"sql"`
}

func appendFiles(all []fileRow, component string, files fs.FS) ([]fileRow, error) {
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		all = append(all, fileRow{component, path, string(content)})
		return err
	})
	return all, err
}
