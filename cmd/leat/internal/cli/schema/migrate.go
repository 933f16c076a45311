// Package schema has the commands about tables: migrate, adopt, debezium and retention.
package schema

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
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
		command.TextColumn("SCHEMA", func(s schemaRow) string { return s.Component }),
		command.CountColumn("VERSION", func(s schemaRow) int64 { return int64(s.Current) }),
		command.CountColumn("LATEST", func(s schemaRow) int64 { return int64(s.Latest) }),
		command.TextColumn("STATE", schemaRow.state),
	}}
}

// schemas reads the versions of all names.
func schemas(d *command.Deps, db open.Database, names []string) ([]schemaRow, bool, error) {
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

// part is a schema to inspect or migrate, in the database of its outbox or inbox.
type part struct {
	label, component string
	in               settings.Settings
}

// parts are the schemas of a command: those of all outboxes and inboxes of the file, or those of the
// settings if an outbox or a component is named, or the file has none.
func (c Component) parts(d *command.Deps) (all []part, err error) {
	names := d.OutboxNames()
	if len(names) == 0 || len(c.Component) > 0 || d.Globals.Settings().Outbox.Set() {
		for _, name := range c.names() {
			all = append(all, part{name, name, d.Settings})
		}
		return all, nil
	}
	for _, name := range names {
		s, err := d.SettingsOf(name)
		if err != nil {
			return nil, err
		}
		if !s.Forwarder.Set() {
			all = append(all, part{"outbox " + name, "outbox", s})
		}
	}
	_, profile := d.FileAndProfile()
	inboxes, err := d.File.InboxesOf(profile, d.Process.LookupEnv)
	if err != nil {
		return nil, err
	}
	base, err := d.WithoutName()
	if len(inboxes) == 0 {
		all = append(all, part{"inbox", "inbox", base})
	}
	for _, in := range inboxes {
		s := base.OfInbox(in)
		all = append(all, part{"inbox " + cmp.Or(in.Name.Value, s.Inbox.Value), "inbox", s})
	}
	return all, err
}

// each calls do with the database of each part, and returns the versions of all.
func (c Component) each(d *command.Deps, t open.Target, do func(p part, db open.Database) error) (rows []schemaRow, behind bool, err error) {
	parts, err := c.parts(d)
	for _, p := range parts {
		if err != nil {
			return nil, false, err
		}
		err = d.At(p.in, func(sub *command.Deps) error {
			db, err := sub.OpenFor(t)
			if err == nil && do != nil {
				err = do(p, db)
			}
			if err != nil {
				return err
			}
			found, late, err := schemas(d, db, []string{p.component})
			for _, row := range found {
				row.Component = p.label
				rows = append(rows, row)
			}
			behind = behind || late
			return err
		})
	}
	return rows, behind, err
}

// MigrateStatus is migrate status.
type MigrateStatus struct{ Component }

// Run prints the versions.
func (m *MigrateStatus) Run(d *command.Deps) error {
	rows, behind, err := m.each(d, open.Target{}, nil)
	if err != nil {
		return err
	}
	if err := schemaList().Print(d.Printer, rows, ""); err != nil {
		return err
	}
	if behind {
		return command.ErrFindings
	}
	return nil
}

// MigrateUp is migrate up. It takes no reason, since there is no audit that could store it.
type MigrateUp struct {
	Component

	LockTimeout command.Span `default:"5s" placeholder:"DURATION" help:"Longest wait for a lock, 1ms or more."`
	DryRun      bool         `help:"Show what would change; change nothing."`
	Yes         bool         `short:"y" help:"Do not ask. Required without a terminal."`
}

// Run brings the schemas to their latest versions.
func (m *MigrateUp) Run(d *command.Deps) error {
	if time.Duration(m.LockTimeout) < time.Millisecond {
		return command.Usage("--lock-timeout", time.Duration(m.LockTimeout).String(), "must be at least 1ms")
	}
	target := open.Target{LockTimeout: time.Duration(m.LockTimeout), Create: !m.DryRun}
	rows, behind, err := m.each(d, target, func(p part, db open.Database) error { return beside(d, p, db) })
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
	if err := d.Confirm(command.Changing{Yes: m.Yes}, ask.Question{Text: "Would migrate " + strings.Join(steps, ", ") + "."}); err != nil {
		return err
	}
	rows, _, err = m.each(d, target, func(p part, db open.Database) error {
		component, err := db.Component(p.component)
		if err != nil {
			return err
		}
		if err := d.Bar("migrating "+p.label, "", 0).Spin(func() error { return component.Migrate(d.Context) }); err != nil {
			return fmt.Errorf("%s: %w", p.label, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return schemaList().Print(d.Printer, rows, "")
}

// beside notes the other outboxes of the database if a new one would be created: one of them may be meant.
func beside(d *command.Deps, p part, db open.Database) error {
	all, ok := db.(open.Elsewhere)
	if p.component != "outbox" || !ok {
		return nil
	}
	component, err := db.Component(p.component)
	if err != nil {
		return err
	}
	if current, _, err := component.Status(d.Context); err != nil || current > 0 {
		return err
	}
	others, err := all.OtherOutboxes(d.Context)
	if err == nil && len(others) > 0 {
		d.Note("The database has an outbox as %s. If that is the one you mean, name it by --schema and --outbox: another one begins empty.", strings.Join(others, ", "))
	}
	return err
}

// MigrateSQL is migrate sql.
type MigrateSQL struct {
	Component

	For string `placeholder:"PRODUCT" enum:",postgres,mysql,mariadb,sqlite" default:"" help:"postgres, mysql, mariadb or sqlite. Defaults to that of the database, or postgres."`
}

// nowhere returns a URL of the product that leads to no database.
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

// Run prints the migration files, which goose and tern can run unchanged. It needs no database.
func (m *MigrateSQL) Run(d *command.Deps) error {
	url := m.nowhere(d.Settings.Database.Value)
	s := d.Settings.At(url)
	db, err := open.Open(d.Context, open.Target{
		URL: url, Offline: true, Schema: s.Schema.Value, Outbox: s.Outbox.Value, Inbox: s.Inbox.Value, Dedupe: s.Dedupe.Value, Logger: d.Logger,
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
