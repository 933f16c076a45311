package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// statusRow is the JSON of the status.
type statusRow struct {
	At          time.Time        `json:"at"`
	LastSeq     int64            `json:"last_seq"`
	LogBytes    int64            `json:"log_bytes"`
	LogRows     int64            `json:"log_rows"`
	Ranges      int              `json:"ranges,omitempty"`
	RangesAhead int              `json:"ranges_ahead,omitempty"`
	Delayed     int              `json:"delayed"`
	DelayedEst  bool             `json:"delayed_estimated,omitempty"`
	Maintainer  string           `json:"maintainer"`
	Groups      []groupStatusRow `json:"groups"`
}

type groupStatusRow struct {
	Name                 string              `json:"name"`
	Held                 int                 `json:"held"`
	Retrying             int                 `json:"retrying"`
	Parked               int                 `json:"parked"`
	Dead                 int                 `json:"dead"`
	Estimated            bool                `json:"estimated,omitempty"`
	OldestSeconds        float64             `json:"oldest_seconds"`
	OldestRetriedSeconds float64             `json:"oldest_retried_seconds"`
	OldestWaitingSeconds float64             `json:"oldest_waiting_seconds"`
	Relays               int                 `json:"relays"`
	Paused               []string            `json:"paused,omitempty"`
	Policies             []string            `json:"policies,omitempty"`
	Server               *serverRow          `json:"server_changed,omitempty"`
	PinsHistory          bool                `json:"pins_history"`
	Out                  []command.OutageRow `json:"out,omitempty"`
	Slots                []slotStatusRow     `json:"slots"`
}

// serverRow is a change of the server.
type serverRow struct {
	Before     string  `json:"before"`
	Now        string  `json:"now"`
	AgoSeconds float64 `json:"ago_seconds"`
}

type slotStatusRow struct {
	Slot             int     `json:"slot"`
	Leader           string  `json:"leader,omitempty"`
	LeaseLeftSeconds float64 `json:"lease_left_seconds"`
	LagSeconds       float64 `json:"lag_seconds"`
	Backlog          int64   `json:"backlog"`
	BacklogExact     bool    `json:"backlog_exact"`
	Problem          string  `json:"problem,omitempty"`
}

// serverShown is how long a change of the server is shown in the table.
const serverShown = 7 * 24 * time.Hour

// exactBacklog is the bound below which SlotStats.Backlog is exact.
const exactBacklog = 1000

func newStatus(now time.Time, stats admin.Stats, groups []admin.Group, ranges []admin.Range) statusRow {
	row := statusRow{
		At: command.UTC(now), LastSeq: stats.LastSeq, LogBytes: stats.Bytes, LogRows: stats.Rows, Ranges: len(ranges),
		Delayed: stats.Delayed, DelayedEst: stats.DelayedEstimated, Maintainer: stats.Maintainer, Groups: []groupStatusRow{},
	}
	for _, r := range ranges {
		if r.From > stats.LastSeq && !r.Open() {
			row.RangesAhead++
		}
	}
	for _, g := range stats.Groups {
		row.Groups = append(row.Groups, newGroupStatus(g, groups, pins(ranges, stats.LastSeq, g.Name)))
	}
	return row
}

// pins reports whether group keeps a range from deletion although the log has moved past it.
func pins(ranges []admin.Range, lastSeq int64, group string) bool {
	return slices.ContainsFunc(ranges, func(r admin.Range) bool {
		return r.To <= lastSeq && slices.Contains(r.PinnedBy, group)
	})
}

func newGroupStatus(g admin.GroupStats, groups []admin.Group, pins bool) groupStatusRow {
	row := groupStatusRow{
		Name: g.Name, Held: g.Held, Retrying: g.Retrying, Parked: g.Parked, Dead: g.Dead, Estimated: g.Estimated,
		OldestRetriedSeconds: show.Seconds(g.OldestRetried), OldestWaitingSeconds: show.Seconds(g.OldestWaiting), PinsHistory: pins, Slots: []slotStatusRow{},
	}
	for _, o := range g.Out {
		row.Out = append(row.Out, command.NewOutageRow(o))
	}
	for _, known := range groups {
		if known.Name == g.Name {
			row.Relays, row.Paused, row.Policies = known.Relays, known.Paused, known.Policies
			if c := known.Server; c.Before != "" {
				row.Server = &serverRow{c.Before, c.Now, show.Seconds(c.Age)}
			}
		}
	}
	oldest := max(g.OldestRetried, g.OldestWaiting)
	for _, s := range g.Slots {
		oldest = max(oldest, s.Lag)
		slot := slotStatusRow{
			Slot: s.Slot, LeaseLeftSeconds: show.Seconds(s.LeaseLeft), LagSeconds: show.Seconds(s.Lag),
			Backlog: s.Backlog, BacklogExact: s.Backlog < exactBacklog, Problem: s.Problem,
		}
		if s.LeaseLeft > 0 {
			slot.Leader = s.Owner
		}
		row.Slots = append(row.Slots, slot)
	}
	row.OldestSeconds = show.Seconds(oldest)
	return row
}

// only removes the other groups.
func (s *statusRow) only(group string) {
	s.Groups = slices.DeleteFunc(s.Groups, func(g groupStatusRow) bool { return g.Name != group })
}

// statusLine is a slot in the table.
type statusLine struct {
	group groupStatusRow
	slot  slotStatusRow
	first bool
}

func (s *statusRow) lines() []statusLine {
	var lines []statusLine
	for _, g := range s.Groups {
		if len(g.Slots) == 0 {
			lines = append(lines, statusLine{group: g, slot: slotStatusRow{Slot: -1}, first: true})
		}
		for i, slot := range g.Slots {
			lines = append(lines, statusLine{group: g, slot: slot, first: i == 0})
		}
	}
	return lines
}

func (s *statusRow) outages() (lines []command.OutageLine) {
	for _, g := range s.Groups {
		lines = append(lines, command.OutageLines(g.Name, g.Out)...)
	}
	return lines
}

func (s *statusRow) list() show.List[statusLine] {
	count := func(title string, get func(groupStatusRow) int) show.Column[statusLine] {
		return show.Column[statusLine]{Title: title, Right: true, Cell: func(_ *show.Printer, l statusLine) string {
			if !l.first {
				return ""
			}
			return command.About(l.group.Estimated) + show.Count(int64(get(l.group)))
		}}
	}
	remarks := func(p *show.Printer, l statusLine) string {
		all := l.remarks()
		if all == "" {
			return ""
		}
		return p.Paint(text.FgRed, all)
	}
	return show.List[statusLine]{Empty: "No relay group has begun to read.", Columns: []show.Column[statusLine]{
		command.TextColumn("GROUP", func(l statusLine) string { return l.group.Name }),
		{Title: "SLOT", Right: true, Cell: func(_ *show.Printer, l statusLine) string { return l.number() }},
		command.TextColumn("LEADER", func(l statusLine) string { return l.slot.Leader }),
		{Title: "LAG", Right: true, Cell: func(_ *show.Printer, l statusLine) string {
			return show.Duration(time.Duration(l.slot.LagSeconds * float64(time.Second)))
		}},
		{Title: "BACKLOG", Right: true, Cell: func(_ *show.Printer, l statusLine) string { return l.backlog() }},
		{Title: "OLDEST", Right: true, Cell: func(_ *show.Printer, l statusLine) string {
			if !l.first {
				return ""
			}
			return show.Duration(time.Duration(l.group.OldestSeconds * float64(time.Second)))
		}},
		count("RETRY", func(g groupStatusRow) int { return g.Retrying }),
		count("PARKED", func(g groupStatusRow) int { return g.Parked }),
		count("DEAD", func(g groupStatusRow) int { return g.Dead }),
		count("RELAYS", func(g groupStatusRow) int { return g.Relays }),
		{Title: "", Cell: remarks, Below: remarks},
	}}
}

func (l statusLine) number() string {
	if l.slot.Slot < 0 {
		return show.None
	}
	return strconv.Itoa(l.slot.Slot)
}

func (l statusLine) backlog() string {
	return command.About(!l.slot.BacklogExact && l.slot.Slot >= 0) + show.Count(l.slot.Backlog)
}

// remarks are the problems that an operator should handle.
func (l statusLine) remarks() string {
	var all []string
	if l.first && l.group.Relays == 0 {
		all = append(all, "no relay")
	}
	if l.first && l.group.PinsHistory {
		all = append(all, "pins history")
	}
	if l.first && len(l.group.Paused) > 0 {
		all = append(all, "paused: "+show.Cell(strings.Join(l.group.Paused, ", ")))
	}
	if l.first && len(l.group.Policies) > 1 {
		all = append(all, "policies differ")
	}
	if c := l.group.Server; l.first && c != nil && c.AgoSeconds < serverShown.Seconds() {
		all = append(all, fmt.Sprintf("%s ago the server changed from %s to %s: nothing may write to the former one (docs/moves.md)",
			show.Duration(time.Duration(c.AgoSeconds*float64(time.Second))), show.Cell(c.Before), show.Cell(c.Now)))
	}
	if l.first && len(l.group.Out) > 0 {
		all = append(all, fmt.Sprintf("%d out, see below", len(l.group.Out)))
	}
	if l.slot.Problem != "" {
		all = append(all, show.Plain(l.slot.Problem))
	}
	if len(all) == 0 {
		return ""
	}
	return "! " + strings.Join(all, "; ")
}

func (s *statusRow) footer() string {
	parts := []string{"log " + show.Bytes(s.LogBytes)}
	if s.Ranges > 0 {
		parts = append(parts, show.Things(int64(s.Ranges), "range"), strconv.Itoa(s.RangesAhead)+" ahead")
	}
	footer := strings.Join(parts, ", ") + " · delayed " + command.About(s.DelayedEst) + show.Count(int64(s.Delayed))
	switch {
	case s.Maintainer != "":
		footer += " · maintained by " + show.Cell(s.Maintainer)
	case s.Ranges > 0:
		footer += " · no maintenance runs"
	}
	return footer
}
