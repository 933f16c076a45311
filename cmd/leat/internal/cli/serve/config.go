package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/payload"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
)

// Config are the commands about the configuration file.
type Config struct {
	Lint   ConfigLint   `cmd:"" help:"Check the file with all profiles; exit status 5 if something is wrong."`
	Show   ConfigShow   `cmd:"" help:"Print the settings that apply, and where they come from; secrets are hidden."`
	Schema ConfigSchema `cmd:"" help:"Print the JSON Schema of the file, for editors."`
}

// ConfigLint is config lint.
type ConfigLint struct {
	File string `arg:"" optional:"" help:"The file. Defaults to --config." predictor:"file"`
}

// findingRow is the JSON of a problem.
type findingRow struct {
	File    string `json:"file"`
	Profile string `json:"profile,omitempty"`
	Line    int    `json:"line,omitempty"`
	Text    string `json:"text"`
}

// Run checks the file.
func (c *ConfigLint) Run(d *command.Deps) error {
	path, _ := d.FileAndProfile()
	if c.File != "" {
		path = c.File
	}
	if path == "" {
		return command.UsageError{Err: errors.New("no file: name it, or give --config or LEAT_CONFIG")}
	}
	findings, err := lint(d, path)
	if err != nil {
		return err
	}
	for i := range findings {
		findings[i].Text = settings.Redact(findings[i].Text)
	}
	list := show.List[findingRow]{Name: "findings", Empty: path + ": nothing is wrong.", Columns: []show.Column[findingRow]{
		{Title: "WHERE", Cell: func(_ *show.Printer, f findingRow) string { return f.where() }},
		command.TextColumn("PROFILE", func(f findingRow) string { return f.Profile }),
		{Title: "WHAT", Cell: func(_ *show.Printer, f findingRow) string { return show.Plain(f.Text) }},
	}}
	if err := list.Print(d.Printer, findings, ""); err != nil {
		return err
	}
	if len(findings) > 0 {
		return command.ErrFindings
	}
	return nil
}

func (f findingRow) where() string {
	if f.Line == 0 {
		return show.Plain(f.File)
	}
	return fmt.Sprintf("%s:%d", show.Plain(f.File), f.Line)
}

// lint returns the problems of the file at path.
func lint(d *command.Deps, path string) ([]findingRow, error) {
	file, err := settings.Read(path)
	if invalid, ok := errors.AsType[*settings.InvalidError](err); ok {
		return findingsOf(invalid, ""), nil
	}
	if err != nil {
		return nil, command.ConfigError(path, err)
	}
	var all []findingRow
	for _, profile := range append([]string{""}, file.ProfileNames()...) {
		s, err := file.SettingsOf(profile, d.Process.LookupEnv)
		if invalid, ok := errors.AsType[*settings.InvalidError](err); ok {
			all = appendNew(all, path, profile, findingsOf(invalid, profile))
			continue
		}
		all = appendNew(all, path, profile, check(d, s))
		all = appendNew(all, path, profile, checkDaemon(d, file, profile, s))
	}
	return all, nil
}

// appendNew appends findings that are not in all yet: those that apply to all profiles are found in each.
func appendNew(all []findingRow, path, profile string, findings []findingRow) []findingRow {
	for _, finding := range findings {
		finding.File, finding.Profile = path, profile
		if !slices.ContainsFunc(all, func(f findingRow) bool { return f.Line == finding.Line && f.Text == finding.Text }) {
			all = append(all, finding)
		}
	}
	return all
}

func findingsOf(invalid *settings.InvalidError, profile string) []findingRow {
	return command.RowsOf(invalid.Findings, func(f settings.Finding) findingRow {
		return findingRow{invalid.Path, profile, f.Line, f.Text}
	})
}

// check validates the settings with the constructors that they are for. It connects to nothing.
func check(d *command.Deps, s settings.Settings) []findingRow {
	var all []findingRow
	wrong := func(t settings.Text, text string) {
		all = append(all, findingRow{Line: t.Line(), Text: strings.ReplaceAll(text, "leat: invalid configuration: ", "")})
	}
	for _, choice := range command.Printing(s) {
		if choice.Text.Set() && !slices.Contains(choice.Of, choice.Text.Value) {
			wrong(choice.Text, fmt.Sprintf("%s: %q: must be one of %q", choice.Name, choice.Text.Value, choice.Of))
		}
	}
	whole := s.Or(settings.Defaults(s.Database.Value))
	target := open.Target{
		URL: whole.Database.Value, Schema: whole.Schema.Value, Outbox: whole.Outbox.Value, Inbox: whole.Inbox.Value, Dedupe: whole.Dedupe.Value, Logger: d.Logger,
	}
	if settings.IsSQL(target.URL) && target.Schema != "" {
		wrong(s.Schema, "schema: is PostgreSQL's: leave it out")
		target.Schema = ""
	}
	if db, err := open.Open(d.Context, target); err != nil {
		wrong(s.Database, settings.Redact(err.Error()))
		target.URL = "postgres:///none"
	} else {
		db.Close()
	}
	if db, err := open.Open(d.Context, target); err == nil {
		defer db.Close()
		for _, named := range []struct {
			component string
			text      settings.Text
		}{{"outbox", s.Outbox}, {"inbox", s.Inbox}, {"dedupe", s.Dedupe}} {
			if _, err := db.Component(named.component); err != nil {
				wrong(named.text, named.component+": "+err.Error())
			}
		}
	}
	if s.Kafka != (settings.Kafka{}) {
		if _, err := sink.Options(s.Kafka); err != nil {
			wrong(s.Kafka.Brokers, err.Error())
		}
	}
	_, err := payload.New(payload.Sources{Registry: s.Registry.Value, Keys: s.Keys.Value})
	if bad, ok := errors.AsType[*payload.ConfigError](err); ok {
		at := s.Registry
		if bad.Setting == "keys" {
			at = s.Keys
		}
		wrong(at, bad.Setting+": "+bad.Reason())
	}
	return all
}

// checkDaemon assembles the daemon of leat run, if the file has one.
func checkDaemon(d *command.Deps, file *settings.File, profile string, s settings.Settings) []findingRow {
	said, err := file.DaemonOf(profile, d.Process.LookupEnv)
	if err == nil && len(said.Outboxes)+len(said.Inboxes) > 0 {
		_, _, err = newLogger(io.Discard, said)
		if err == nil {
			whole := s.Or(settings.FromEnv(d.Process.LookupEnv))
			whole = whole.Or(settings.Defaults(whole.Database.Value))
			err = assemble.Check(d.Context, assemble.Input{Settings: whole, Daemon: said, Database: whole.Database.Value, Logger: d.Logger})
		}
	}
	if invalid, ok := errors.AsType[*settings.InvalidError](err); ok {
		return findingsOf(invalid, profile)
	}
	return nil
}

// ConfigShow is config show.
type ConfigShow struct{}

// Run prints the settings in effect.
func (*ConfigShow) Run(d *command.Deps) error {
	list := show.List[settings.Shown]{Name: "settings", Columns: []show.Column[settings.Shown]{
		command.TextColumn("SETTING", func(s settings.Shown) string { return s.Name }),
		{Title: "VALUE", Cell: func(_ *show.Printer, s settings.Shown) string { return show.Plain(s.Value) }},
		command.TextColumn("FROM", func(s settings.Shown) string { return s.From }),
	}}
	said, err := d.Whole()
	if err != nil {
		return err
	}
	return list.Print(d.Printer, said.Show(), "")
}

// ConfigSchema is config schema.
type ConfigSchema struct{}

// Run prints the schema.
func (*ConfigSchema) Run(d *command.Deps) error {
	content, err := json.MarshalIndent(settings.JSONSchema(), "", "  ")
	if err != nil {
		return err
	}
	return d.Line("%s", content)
}
