package cli

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Doctor is the command doctor.
type Doctor struct {
	Only   string `placeholder:"PATTERN" help:"Checks whose names match, such as 'holders.*'."`
	Strict bool   `help:"Warnings and what is not known count as findings, too: exit status 5."`
	Long   Span   `default:"1h" placeholder:"DURATION" help:"Age from which an open or prepared transaction is told."`
}

// Run examines the database and the outbox.
func (c *Doctor) Run(d *Deps) error {
	if _, err := path.Match(c.Only, ""); err != nil {
		return usage("--only", c.Only, "must be a pattern such as 'holders.*'")
	}
	db, err := d.Open()
	if err != nil {
		return err
	}
	checks, err := c.checks(d, db)
	if err != nil {
		return err
	}
	found, err := doctor.Examine(d.Context, checks, c.Only)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return usage("--only", c.Only, "matches no check")
	}
	if err := findingList().Print(d.Printer, found, ""); err != nil {
		return err
	}
	if doctor.Bad(found, c.Strict) {
		return errFindings
	}
	return nil
}

func findingList() show.List[doctor.Finding] {
	colors := map[doctor.Verdict]text.Color{doctor.OK: text.FgGreen, doctor.Warn: text.FgYellow, doctor.Fail: text.FgRed, doctor.Unknown: text.FgYellow}
	return show.List[doctor.Finding]{Name: "findings", Columns: []show.Column[doctor.Finding]{
		{Title: "CHECK", Cell: func(_ *show.Printer, f doctor.Finding) string { return f.Check }},
		{Title: "", Cell: func(p *show.Printer, f doctor.Finding) string { return p.Paint(colors[f.Verdict], string(f.Verdict)) }},
		{Title: "WHAT", Cell: func(_ *show.Printer, f doctor.Finding) string { return show.Plain(f.Text) }},
		{Title: "TO DO", Cell: func(_ *show.Printer, f doctor.Finding) string { return show.Plain(f.Advice) }},
	}}
}

// checks are those of schemas, of the server, and of the outbox.
func (c *Doctor) checks(d *Deps, db open.Database) ([]doctor.Check, error) {
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
		checks, err := examiner.Checks(open.Examination{Long: time.Duration(c.Long), Slots: slots, SlotsUnknown: unknown})
		if err != nil {
			return nil, err
		}
		all = append(all, checks...)
	}
	o := outboxChecks{store}
	return append(
		all, doctor.Check{Name: "outbox.positions", Run: o.positions}, doctor.Check{Name: "outbox.groups", Run: o.groups},
		doctor.Check{Name: "outbox.parked", Run: o.parked}, doctor.Check{Name: "outbox.maintenance", Run: o.maintenance},
		doctor.Check{Name: "outbox.ranges", Run: o.ranges},
	), nil
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
		return []doctor.Finding{{Verdict: doctor.Fail, Text: "is not there", Advice: advice}}, nil
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

// outboxChecks are the same for every store.
type outboxChecks struct{ store admin.Outbox }

// stats calls look for each group.
func (o outboxChecks) stats(ctx context.Context, look func(admin.GroupStats) []doctor.Finding) ([]doctor.Finding, error) {
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	for _, g := range stats.Groups {
		all = append(all, look(g)...)
	}
	return all, nil
}

func (o outboxChecks) positions(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) (all []doctor.Finding) {
		for _, s := range g.Slots {
			if s.Problem != "" {
				all = append(all, doctor.Finding{
					Verdict: doctor.Fail, Text: fmt.Sprintf("group %s, slot %d: %s", g.Name, s.Slot, s.Problem),
					Advice: "see docs/operations.md, then leat rebase --group " + g.Name,
				})
			}
		}
		return all
	})
}

func (o outboxChecks) parked(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) []doctor.Finding {
		if g.Parked == 0 {
			return nil
		}
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: fmt.Sprintf("group %s: %s wait for an operator", g.Name, show.Things(int64(g.Parked), "parked record")),
			Advice: "leat parked errors --group " + g.Name,
		}}
	})
}

func (o outboxChecks) groups(ctx context.Context) ([]doctor.Finding, error) {
	groups, err := o.store.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	warn := func(group, what, advice string) {
		all = append(all, doctor.Finding{Verdict: doctor.Warn, Text: "group " + group + ": " + what, Advice: advice})
	}
	for _, g := range groups {
		if g.Relays == 0 {
			warn(g.Name, "no relay lives, and its position holds history back", "start its relays, or leat groups remove "+g.Name)
		}
		if len(g.Paused) > 0 {
			warn(g.Name, "is paused: "+strings.Join(g.Paused, ", "), "leat groups resume "+g.Name)
		}
		if g.NextSlots > 0 {
			warn(g.Name, fmt.Sprintf("its slots are being changed from %d to %d", g.Slots, g.NextSlots), "start all its relays with the same number")
		}
	}
	return all, nil
}

func (o outboxChecks) maintenance(ctx context.Context) ([]doctor.Finding, error) {
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	if _, needed := o.store.(admin.RangeLister); !needed || stats.Maintainer != "" {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: "no process keeps the log in shape: nothing old goes, nothing delayed becomes due",
		Advice: "run pgoutbox.Maintenance in your services, or leat retention run",
	}}, nil
}

func (o outboxChecks) ranges(ctx context.Context) ([]doctor.Finding, error) {
	lister, ok := o.store.(admin.RangeLister)
	if !ok {
		return nil, nil
	}
	ranges, err := lister.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	if newStatus(time.Time{}, stats, nil, ranges).RangesAhead > 0 {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "no range is ahead of the sequence: the open-ended one is in use, or soon will be", Advice: "leat retention run",
	}}, nil
}
