package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/cli/held"
	"github.com/leat-go/leat/cmd/leat/internal/cli/inboxes"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Trace is the command trace.
type Trace struct {
	ID    string         `arg:""`
	Since command.Moment `placeholder:"TIME" help:"Enqueued since this time or age, such as 24h; ids of version 7 contain it."`
}

// traceRow is the JSON of a trace.
type traceRow struct {
	ID       string                `json:"id"`
	Messages []tracedRow           `json:"messages"`
	Delayed  []command.MessageRow  `json:"delayed"`
	Held     []command.HeldRow     `json:"held"`
	Dead     []command.HeldRow     `json:"dead"`
	Audit    []changes.AuditRow    `json:"audit"`
	Inbox    []inboxes.SightingRow `json:"inbox"`
}

type tracedRow struct {
	command.MessageRow

	Groups []groupTraceRow `json:"groups"`
}

type groupTraceRow struct {
	Group string             `json:"group"`
	State string             `json:"state"`
	Out   *command.OutageRow `json:"out,omitempty"`
}

// addOutages adds the outage to each group that has not sent a message because its topic is out.
func (t *traceRow) addOutages(ctx context.Context, store admin.Outbox) error {
	waits := func(g groupTraceRow) bool {
		return g.State == string(admin.TracePending) || g.State == string(admin.TraceHeld)
	}
	if !slices.ContainsFunc(t.Messages, func(m tracedRow) bool { return slices.ContainsFunc(m.Groups, waits) }) {
		return nil
	}
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	for _, m := range t.Messages {
		for i := range m.Groups {
			for _, g := range stats.Groups {
				at := slices.IndexFunc(g.Out, func(o driver.Outage) bool { return o.Topic == m.Topic })
				if g.Name == m.Groups[i].Group && waits(m.Groups[i]) && at >= 0 {
					out := command.NewOutageRow(g.Out[at])
					m.Groups[i].Out = &out
				}
			}
		}
	}
	return nil
}

// Run prints what outbox and inbox have recorded of the message.
func (t *Trace) Run(d *command.Deps) error {
	store, err := d.Store("")
	searcher, err := command.Capable[admin.Manager](d, store, err, "trace messages")
	if err != nil {
		return err
	}
	traced, err := searcher.Trace(d.Context, admin.TraceQuery{ID: t.ID, Since: t.Since.Time})
	missing := errors.Is(err, outbox.ErrNotMigrated)
	if errors.Is(err, admin.ErrInvalidRequest) {
		return sinceHint(err, t.ID, t.Since)
	}
	if err != nil && !missing {
		return err
	}
	row := newTraceRow(t.ID, traced)
	if err := row.addOutages(d.Context, store); err != nil {
		return err
	}
	if row.Inbox, err = inboxes.Sightings(d, inboxadmin.LookupQuery{ID: t.ID}); err != nil {
		return err
	}
	if row.empty() {
		return fmt.Errorf("%w: neither outbox nor inbox knows a message with id %q", command.ErrNothing, t.ID)
	}
	if d.Format != show.Table {
		return d.Document(row)
	}
	return row.print(d)
}

func newTraceRow(id string, traced admin.Trace) traceRow {
	whole := command.NewHeldRow
	return traceRow{
		ID: id,
		Messages: command.RowsOf(traced.Messages, func(m admin.TracedMessage) tracedRow {
			return tracedRow{command.NewRecordRow(m.Record, false), command.RowsOf(m.Groups, func(g admin.GroupTrace) groupTraceRow {
				return groupTraceRow{Group: g.Group, State: string(g.State)}
			})}
		}),
		Delayed: command.RowsOf(traced.Delayed, func(m admin.DelayedMessage) command.MessageRow { return held.NewDelayedRow(m, false) }),
		Held:    command.RowsOf(traced.Held, whole), Dead: command.RowsOf(traced.Dead, whole), Audit: command.RowsOf(traced.Audit, changes.NewAuditRow),
	}
}

// empty reports whether nothing is recorded of the message.
func (t *traceRow) empty() bool {
	for _, s := range t.Inbox {
		if s.State != string(inboxadmin.NotSeen) && s.State != string(inboxadmin.Forgotten) {
			return false
		}
	}
	return len(t.Messages)+len(t.Delayed)+len(t.Held)+len(t.Dead)+len(t.Audit) == 0
}

// event is a line of a trace.
type event struct {
	at             time.Time
	who, what, how string
}

func (t *traceRow) print(d *command.Deps) error {
	how := func(_ *show.Printer, e event) string { return e.how }
	list := show.List[event]{Columns: []show.Column[event]{
		{Title: "WHEN", Cell: func(p *show.Printer, e event) string {
			if e.at.IsZero() {
				return ""
			}
			return p.Clock(e.at)
		}},
		command.TextColumn("WHO", func(e event) string { return e.who }),
		command.TextColumn("WHAT", func(e event) string { return e.what }),
		{Title: "HOW", Cell: how, Below: how},
	}}
	return list.Print(d.Printer, t.events(d), "")
}

func (t *traceRow) events(d *command.Deps) []event {
	var all []event
	for _, m := range t.Messages {
		how := fmt.Sprintf("seq %d, %s / %s", m.Seq, show.Cell(m.Topic), show.Cell(m.Key))
		all = append(all, event{m.CreatedAt, "producer", "enqueued", how})
		for _, g := range m.Groups {
			all = append(all, event{who: g.Group, what: g.State, how: t.how(d, g)})
			if g.Out != nil {
				line := command.OutageLines(g.Group, []command.OutageRow{*g.Out})[0]
				all = append(all, event{at: g.Out.Since, who: g.Group, what: "out", how: show.Plain(line.Text(d.Now()))})
			}
		}
	}
	for _, m := range t.Delayed {
		all = append(all, event{m.CreatedAt, "producer", "delayed", "due " + d.Time(m.NotBefore)})
	}
	for _, a := range t.Audit {
		all = append(all, event{a.At, a.Actor, a.Action, show.Cell(a.Reason)})
	}
	for _, s := range t.Inbox {
		all = append(all, event{s.ProcessedAt, "inbox " + s.Consumer, s.State, s.How()})
	}
	return all
}

// how describes the message in a group beyond its state.
func (t *traceRow) how(d *command.Deps, g groupTraceRow) string {
	switch admin.TraceState(g.State) {
	case admin.TraceSent:
		return "the position is past it"
	case admin.TraceUnknown:
		return "the group began later: nobody knows that it has sent it"
	case admin.TraceHeld:
		return howHeld(d, t.Held, g.Group)
	case admin.TraceDead:
		return howHeld(d, t.Dead, g.Group)
	case admin.TraceFiltered:
		return "the group does not read the topic"
	default:
		return ""
	}
}

func howHeld(d *command.Deps, rows []command.HeldRow, group string) string {
	for _, h := range rows {
		if h.Group == group {
			how := h.State + " since " + d.Time(h.Since)
			if why := h.Why(); why != "" {
				how += ": " + show.Plain(why)
			}
			return how
		}
	}
	return ""
}
