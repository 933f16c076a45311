// Package diagnose has the commands that find problems: status, explain and doctor.
package diagnose

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
)

// Doctor is the command doctor.
type Doctor struct {
	All    bool         `help:"All outboxes of the file."`
	Only   string       `placeholder:"PATTERN" help:"Checks whose names match, such as 'holders.*'."`
	Strict bool         `help:"Exit status 5 for warn and unknown, too."`
	Long   command.Span `default:"1h" placeholder:"DURATION" help:"Report transactions open or prepared for longer."`
	Lag    command.Span `default:"5m" placeholder:"DURATION" help:"Report messages that wait for longer."`
	Silent command.Span `default:"30d" placeholder:"DURATION" help:"Report consumers idle for longer."`

	Role []string `placeholder:"USER=USE" sep:"none" help:"Compare a role's rights with a use, such as shop=producer; x=? lists all uses; repeat it."`

	Brokers         string       `placeholder:"LIST" help:"Kafka's seed brokers, such as k1:9092,k2:9092 (LEAT_KAFKA_BROKERS)."`
	Topic           []string     `placeholder:"TOPIC" help:"Further Kafka topic to check; repeat it."`
	PositionsTopic  []string     `placeholder:"TOPIC" help:"Topic of positions of a transactional relay; repeat it."`
	OutboxRetention command.Span `default:"7d" placeholder:"DURATION" help:"How long maintenance keeps messages."`
	OutboxMaxBytes  command.Size `placeholder:"SIZE" help:"Bound of the log, such as 20GiB: warns before it is reached."`
	MaxTailScan     command.Size `default:"256MiB" placeholder:"SIZE" help:"Size of an open-ended range that maintenance does not close."`
	Redis           string       `placeholder:"ADDRESS" help:"Redis of deduplicators, host:port (LEAT_REDIS_URL may have a password)."`
}

// Run examines the database and the outbox.
func (c *Doctor) Run(d *command.Deps) error {
	if err := c.check(); err != nil {
		return err
	}
	var found []doctor.Finding
	var err error
	if c.All {
		err = d.EachOutbox(func(name string, sub *command.Deps) error {
			its, err := c.examine(sub)
			for i := range its {
				its[i].Check = name + ": " + its[i].Check
			}
			found = append(found, its...)
			return err
		})
	} else {
		found, err = c.examine(d)
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return command.Usage("--only", c.Only, "matches no check")
	}
	for i := range found {
		found[i].Text, found[i].Advice = settings.Redact(found[i].Text), settings.Redact(found[i].Advice)
	}
	if err := printFindings(d, found); err != nil {
		return err
	}
	if doctor.Bad(found, c.Strict) {
		return command.ErrFindings
	}
	return nil
}

// examine runs the checks of one outbox.
func (c *Doctor) examine(d *command.Deps) ([]doctor.Finding, error) {
	db, err := d.Open()
	if err != nil {
		return nil, err
	}
	kafka, err := c.kafka(d)
	if err != nil {
		return nil, err
	}
	if kafka != nil {
		defer kafka.Close()
	}
	checks, err := c.checks(d, db, kafka)
	if err != nil {
		return nil, err
	}
	return doctor.Examine(d.Context, checks, c.Only)
}

// check rejects invalid flags before anything is opened.
func (c *Doctor) check() error {
	if _, err := path.Match(c.Only, ""); err != nil {
		return command.Usage("--only", c.Only, "must be a pattern such as 'holders.*'")
	}
	for flag, names := range map[string][]string{"--topic": c.Topic, "--positions-topic": c.PositionsTopic} {
		for _, name := range names {
			if err := command.CheckTopic(flag, name); err != nil {
				return err
			}
		}
	}
	return command.CheckBrokers(c.Brokers)
}

// printFindings prints findings as a table, or on a terminal as wrapped lines, since they are sentences.
func printFindings(d *command.Deps, found []doctor.Finding) error {
	if d.Width <= 0 || d.Format != show.Table {
		return findingList().Print(d.Printer, found, "")
	}
	const indent = "         "
	for _, f := range found {
		name := f.Check
		if f.Text != "" {
			name += ": " + show.Plain(f.Text)
		}
		verdict := fmt.Sprintf("%-*s", len(indent), f.Verdict)
		lines := d.Wrap(name, verdict, indent)
		lines[0] = d.Paint(verdictColors()[f.Verdict], verdict) + strings.TrimPrefix(lines[0], verdict)
		if f.Advice != "" {
			lines = append(lines, d.Wrap(show.Plain(f.Advice), indent+"to do: ", indent+"       ")...)
		}
		if err := d.Lines(lines); err != nil {
			return err
		}
	}
	return nil
}

func verdictColors() map[doctor.Verdict]text.Color {
	return map[doctor.Verdict]text.Color{doctor.OK: text.FgGreen, doctor.Warn: text.FgYellow, doctor.Fail: text.FgRed, doctor.Unknown: text.FgYellow}
}

func findingList() show.List[doctor.Finding] {
	colors := verdictColors()
	return show.List[doctor.Finding]{Name: "findings", Columns: []show.Column[doctor.Finding]{
		{Title: "CHECK", Cell: func(_ *show.Printer, f doctor.Finding) string { return f.Check }},
		{Title: "", Cell: func(p *show.Printer, f doctor.Finding) string { return p.Paint(colors[f.Verdict], string(f.Verdict)) }},
		{Title: "WHAT", Cell: func(_ *show.Printer, f doctor.Finding) string { return show.Plain(f.Text) }},
		{Title: "TO DO", Cell: func(_ *show.Printer, f doctor.Finding) string { return show.Plain(f.Advice) }},
	}}
}

// checks are the checks of the schemas, the server and the outbox.
func (c *Doctor) checks(d *command.Deps, db open.Database, kafka sink.Closer) ([]doctor.Check, error) {
	roles, err := c.roles()
	if err != nil {
		return nil, err
	}
	if _, ok := db.(*open.Postgres); !ok && len(roles) > 0 {
		return nil, command.Usage("--role", c.Role[0], "roles are looked at on PostgreSQL only, not on "+db.Product())
	}
	var all []doctor.Check
	for _, name := range open.Components() {
		all = append(all, doctor.Check{Name: "schema." + name, Run: func(ctx context.Context) ([]doctor.Finding, error) { return schemaCheck(ctx, db, name) }})
	}
	store, err := db.Outbox()
	if err != nil {
		return nil, err
	}
	slots := 1
	groups, unknown := store.Groups(d.Context)
	if unknown == nil {
		slots = 0
		for _, g := range groups {
			slots += max(g.Slots, 1)
		}
	}
	if examiner, ok := db.(open.Examiner); ok {
		checks, err := examiner.Checks(open.Examination{Long: time.Duration(c.Long), Slots: slots, SlotsUnknown: unknown, Roles: roles})
		if err != nil {
			return nil, err
		}
		all = append(all, checks...)
	}
	_, together := db.(open.LogRebaser)
	_, isPostgres := db.(*open.Postgres)
	standbys := isPostgres && !d.Settings.Forwarder.Set()
	all = append(all, outboxChecks{store, time.Duration(c.Lag), c.logBounds(), standbys, together}.all()...)
	all, err = c.inboxChecks(all, db, kafka)
	if err != nil {
		return nil, err
	}
	if kafka != nil {
		all = append(all, sink.Checks(kafka, c.usesOf(db))...)
	}
	all = append(all, sinkChecks(d, db)...)
	return c.redisChecks(d, all)
}

func schemaCheck(ctx context.Context, db open.Database, name string) ([]doctor.Finding, error) {
	component, err := db.Component(name)
	if err != nil {
		return nil, err
	}
	current, latest, err := component.Status(ctx)
	advice := "leat migrate up --component " + name
	switch {
	case err != nil:
		return nil, err
	case current == 0 && name == "outbox":
		if there, err := elsewhere(ctx, db); err != nil || there != nil {
			return there, err
		}
		return []doctor.Finding{{
			Verdict: doctor.Fail, Text: "is not there",
			Advice: advice + "; if the database was moved, or a table or schema was renamed, bring leat's tables along or rename it back instead: what waits, and what inboxes remember, is in them",
		}}, nil
	case current == 0:
		return []doctor.Finding{{Verdict: doctor.OK, Text: "is not there, and need not be"}}, nil
	case current < latest:
		return []doctor.Finding{{Verdict: doctor.Fail, Text: fmt.Sprintf("is at version %d of %d", current, latest), Advice: advice}}, nil
	case current > latest:
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: fmt.Sprintf("is at version %d, and this leat knows %d only: other checks may misjudge", current, latest),
			Advice: "use a leat of your services' release",
		}}, nil
	default:
		return nil, nil
	}
}

// elsewhere returns a finding with the other outboxes of the database, if there are any: a migration under
// a wrong name would create an empty one.
func elsewhere(ctx context.Context, db open.Database) ([]doctor.Finding, error) {
	all, ok := db.(open.Elsewhere)
	if !ok {
		return nil, nil
	}
	others, err := all.OtherOutboxes(ctx)
	if err != nil || len(others) == 0 {
		return nil, err
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "is not there; the database has " + strings.Join(others, ", "),
		Advice: "name it by --schema and --outbox, or in the file; if it was renamed by mistake, rename it back. leat migrate up would begin an empty one beside it",
	}}, nil
}
