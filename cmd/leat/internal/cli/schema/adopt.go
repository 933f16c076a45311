package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
)

// Adopt are the commands that adopt an existing outbox table of a service.
type Adopt struct {
	Take    AdoptTake    `cmd:"" help:"Copy rows into the outbox by triggers, and pass on what is pending. With --dry-run, print mapping, first messages and SQL."`
	Release AdoptRelease `cmd:"" help:"Remove the triggers, and mark what the outbox has as sent."`
}

// Adopted are the flags of both commands.
type Adopted struct {
	Table string `arg:"" placeholder:"TABLE" help:"With its schema if that is not public."`

	Pending     string       `placeholder:"CONDITION" help:"Unsent rows, such as \"status = 'pending'\"."`
	Done        string       `placeholder:"SET" help:"What the old worker sets in a sent row, such as \"status = 'sent'\"."`
	LockTimeout command.Span `default:"5s" placeholder:"DURATION" help:"Longest wait for a lock, 1ms or more."`
	DryRun      bool         `help:"Show what would change; change nothing."`
	Yes         bool         `short:"y" help:"Do not ask. Required without a terminal."`
}

// AdoptTake is adopt take. It takes no reason, since there is no audit that could store it.
type AdoptTake struct {
	Adopted

	ID          string            `name:"id" placeholder:"SQL" help:"The message's id: a column, or SQL over the row NEW."`
	Topic       string            `placeholder:"SQL" help:"The topic; a fixed one in quotes: \"'orders'\"."`
	Key         string            `placeholder:"SQL" help:"The key."`
	Type        string            `placeholder:"SQL" help:"The type."`
	Payload     string            `placeholder:"SQL" help:"The payload."`
	Time        string            `name:"time-of-event" placeholder:"SQL" help:"The time of the event."`
	NotBefore   string            `placeholder:"SQL" help:"The earliest time at which it is sent."`
	HeadersJSON string            `name:"headers-json" placeholder:"SQL" help:"A JSON object with headers."`
	Header      map[string]string `placeholder:"NAME=SQL" mapsep:"none" help:"A further header; repeat it."`
	Order       string            `placeholder:"SQL" help:"The order of pending rows, as in ORDER BY."`
}

// AdoptRelease is adopt release. It takes no reason either.
type AdoptRelease struct{ Adopted }

// recognized returns the table. Settings that were not given are derived from its columns.
func (a Adopted) recognized(d *command.Deps, cfg open.AdoptConfig) (*open.AdoptedTable, open.AdoptConfig, string, error) {
	cfg.Schema, cfg.Table = "", a.Table
	if schema, table, ok := strings.Cut(a.Table, "."); ok {
		cfg.Schema, cfg.Table = schema, table
	}
	cfg.Pending, cfg.Done, cfg.LockTimeout = a.Pending, a.Done, time.Duration(a.LockTimeout)
	db, err := d.Open()
	adopter, err := command.Capable[open.Adopter](d, db, err, "adopt tables")
	if err != nil {
		return nil, cfg, "", err
	}
	table, err := adopter.Adopt(cfg)
	if err != nil {
		return nil, cfg, "", err
	}
	cfg, shape, err := table.Recognize(d.Context)
	if err != nil {
		return nil, cfg, "", err
	}
	table, err = adopter.Adopt(cfg)
	return table, cfg, shape, err
}

// adoptRow is the JSON of both commands.
type adoptRow struct {
	Action  string            `json:"action"`
	DryRun  bool              `json:"dry_run"`
	Table   string            `json:"table"`
	Shape   string            `json:"shape"`
	Adopted bool              `json:"adopted"`
	Mapping map[string]string `json:"mapping"`
	Pending int64             `json:"pending"`
	First   []adoptMessage    `json:"first"`
	SQL     string            `json:"sql"`
}

// adoptMessage is the JSON of a message that would be sent.
type adoptMessage struct {
	ID         string            `json:"id"`
	Topic      string            `json:"topic"`
	Key        string            `json:"key,omitempty"`
	Type       string            `json:"type,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	OccurredAt time.Time         `json:"occurred_at,omitzero"`
	NotBefore  time.Time         `json:"not_before,omitzero"`
	Payload    string            `json:"payload"`
}

// mapping returns the flags that are equivalent to cfg, with their values.
func mapping(cfg open.AdoptConfig) (flags []show.Fact) {
	for _, f := range []show.Fact{
		{Name: "--id", Value: cfg.ID},
		{Name: "--topic", Value: cfg.Topic},
		{Name: "--key", Value: cfg.Key},
		{Name: "--type", Value: cfg.Type},
		{Name: "--payload", Value: cfg.Payload},
		{Name: "--time-of-event", Value: cfg.Time},
		{Name: "--not-before", Value: cfg.NotBefore},
		{Name: "--headers-json", Value: cfg.HeadersJSON},
	} {
		if f.Value != "" {
			flags = append(flags, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Headers)) {
		flags = append(flags, show.Fact{Name: "--header", Value: name + "=" + cfg.Headers[name]})
	}
	for _, f := range []show.Fact{{Name: "--pending", Value: cfg.Pending}, {Name: "--order", Value: cfg.Order}, {Name: "--done", Value: cfg.Done}} {
		if f.Value != "" {
			flags = append(flags, f)
		}
	}
	return flags
}

// Run takes the table over.
func (a *AdoptTake) Run(d *command.Deps) error {
	table, cfg, shape, err := a.recognized(d, open.AdoptConfig{
		ID: a.ID, Topic: a.Topic, Key: a.Key, Type: a.Type, Payload: a.Payload, Time: a.Time, NotBefore: a.NotBefore,
		HeadersJSON: a.HeadersJSON, Headers: a.Header, Order: a.Order,
	})
	if err != nil {
		return err
	}
	row := adoptRow{Action: "take", DryRun: a.DryRun, Table: a.Table, Shape: shape, Mapping: map[string]string{}, First: []adoptMessage{}}
	flags := mapping(cfg)
	for _, f := range flags {
		name, value := strings.TrimPrefix(f.Name, "--"), f.Value
		if name == "header" {
			header, content, _ := strings.Cut(value, "=")
			name, value = "header "+header, content
		}
		row.Mapping[name] = value
	}
	if d.Format == show.Table {
		if err := a.explain(d, shape, flags); err != nil {
			return err
		}
	}
	plan, err := table.Plan(d.Context)
	if err != nil {
		return err
	}
	row.Adopted, row.Pending, row.SQL = plan.Adopted, plan.Pending, plan.SQL
	for _, m := range plan.First {
		row.First = append(row.First, adoptMessage{
			m.ID, m.Topic, m.Key, m.Type, m.Headers, m.OccurredAt, m.NotBefore, string(m.Payload),
		})
	}
	if a.DryRun {
		if d.Format != show.Table {
			return d.Document(row)
		}
		if err := row.print(d); err != nil {
			return err
		}
		return d.Line("\nIt would run:\n\n%s", strings.TrimSpace(plan.SQL))
	}
	if d.Format == show.Table {
		if err := row.print(d); err != nil {
			return err
		}
	}
	if err := d.Confirm(command.Changing{Yes: a.Yes}, ask.Question{Text: row.sentence()}); err != nil {
		return err
	}
	if err := d.Bar("adopting", "", 0).Spin(func() error { return table.Adopt(d.Context) }); err != nil {
		return err
	}
	row.Adopted = true
	if d.Format != show.Table {
		return d.Document(row)
	}
	return d.Paragraph("Adopted %s. Start a relay, then stop the old worker.", show.Plain(a.Table))
}

// explain prints the mapping as flags.
func (a *AdoptTake) explain(d *command.Deps, shape string, flags []show.Fact) error {
	said := "Table " + show.Plain(a.Table) + " has no shape that is known."
	if shape != "" {
		said = "Table " + show.Plain(a.Table) + " is recognised: " + shape + "."
	}
	if err := errors.Join(d.Paragraph("%s", said), d.Line("")); err != nil {
		return err
	}
	for i := range flags {
		flags[i].Value, flags[i].Whole = strconv.Quote(flags[i].Value), true
	}
	return d.Object(nil, flags...)
}

func (r adoptRow) sentence() string {
	if r.Adopted {
		return "The table is adopted. Would bring its triggers up to this mapping."
	}
	return fmt.Sprintf("Would pass on %s, and each that is inserted from now on.", show.Things(r.Pending, "pending row"))
}

// print prints the first messages, and the changes that would be made.
func (r adoptRow) print(d *command.Deps) error {
	title := "The first messages:"
	if r.Pending == 0 {
		title = "Messages of any rows:"
	}
	if len(r.First) > 0 {
		if err := d.Line("\n%s", title); err != nil {
			return err
		}
	}
	for _, m := range r.First {
		if err := errors.Join(d.Line(""), d.Paragraph("%s", show.Plain(m.line()))); err != nil {
			return err
		}
	}
	return errors.Join(d.Line(""), d.Paragraph("%s", r.sentence()))
}

// line is a message in a line.
func (m adoptMessage) line() string {
	const most = 160
	payload := []rune(m.Payload)
	if len(payload) > most {
		payload = append(payload[:most], '…')
	}
	words := []string{"id " + m.ID, "topic " + m.Topic}
	for _, w := range []show.Fact{{Name: "key", Value: m.Key}, {Name: "type", Value: m.Type}} {
		if w.Value != "" {
			words = append(words, w.Name+" "+w.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		words = append(words, name+"="+m.Headers[name])
	}
	if !m.NotBefore.IsZero() {
		words = append(words, "not before "+outbox.FormatEventTime(m.NotBefore))
	}
	return strings.Join(words, ", ") + ": " + string(payload)
}

// Run releases the table.
func (a *AdoptRelease) Run(d *command.Deps) error {
	table, cfg, shape, err := a.recognized(d, open.AdoptConfig{})
	if err != nil {
		return err
	}
	row := adoptRow{Action: "release", DryRun: a.DryRun, Table: a.Table, Shape: shape, Mapping: map[string]string{}, First: []adoptMessage{}}
	if row.Adopted, err = table.Adopted(d.Context); err != nil {
		return err
	}
	would := "Would remove the triggers of " + show.Plain(a.Table)
	if cfg.Done != "" {
		row.Mapping = map[string]string{"pending": cfg.Pending, "done": cfg.Done}
		would += ", and set " + cfg.Done + " where " + cfg.Pending + ", if the outbox has these rows"
	} else {
		would += ". The old worker would send again what is pending: give --pending and --done to mark it"
	}
	if !row.Adopted {
		would = "Table " + show.Plain(a.Table) + " is not adopted: nothing would change"
	}
	if !a.DryRun {
		if err := d.Confirm(command.Changing{Yes: a.Yes}, ask.Question{Text: would + "."}); err != nil {
			return err
		}
		if err := table.Release(d.Context); err != nil {
			return err
		}
		row.Adopted = false
		would = "Released " + show.Plain(a.Table) + ". Wait until the relay has sent all, then start the old worker"
	}
	if d.Format != show.Table {
		return d.Document(row)
	}
	return d.Paragraph("%s.", would)
}
