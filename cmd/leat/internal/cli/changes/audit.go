package changes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Audit is the command audit.
type Audit struct {
	command.Paging

	Group  string         `placeholder:"GROUP" help:"This group only." predictor:"group"`
	Action string         `placeholder:"ACTION" help:"This action only: park, redrive, drop, …"`
	Topic  string         `placeholder:"TOPIC" help:"This topic only." predictor:"topic"`
	Key    string         `placeholder:"KEY" help:"This key only."`
	ID     string         `placeholder:"ID" help:"The record or message with this id."`
	Since  command.Moment `placeholder:"TIME" help:"Since this time or age, such as 2h."`
	Newest bool           `help:"The newest first."`
	Follow bool           `short:"f" help:"Wait for new entries."`
}

// AuditRow is the JSON of an entry of the audit.
type AuditRow struct {
	No       int64           `json:"no"`
	At       time.Time       `json:"at"`
	Action   string          `json:"action"`
	Actor    string          `json:"actor"`
	Reason   string          `json:"reason"`
	Group    string          `json:"group,omitempty"`
	Consumer string          `json:"consumer,omitempty"`
	Seq      int64           `json:"seq,omitempty"`
	ID       string          `json:"id,omitempty"`
	Topic    string          `json:"topic,omitempty"`
	Key      string          `json:"key,omitempty"`
	Details  json.RawMessage `json:"details,omitempty"`
}

// NewAuditRow returns the row of an entry.
func NewAuditRow(e admin.AuditEntry) AuditRow {
	return AuditRow{
		No: e.No, At: command.UTC(e.At), Action: e.Action, Actor: e.Actor, Reason: e.Reason, Group: e.Group,
		Seq: e.Seq, ID: e.ID, Topic: e.Topic, Key: e.Key, Details: e.Details,
	}
}

// AuditList is the list of entries. whose is the title of the column of groups.
func AuditList(whose string) show.List[AuditRow] {
	id, reason := command.Identified("ID", func(a AuditRow) string { return a.ID }, "REASON", func(a AuditRow) string { return a.Reason })
	return show.List[AuditRow]{Name: "entries", Empty: "The audit has no such entry.", Columns: []show.Column[AuditRow]{
		command.IDColumn("NO", func(a AuditRow) int64 { return a.No }),
		command.TimeColumn("AT", func(a AuditRow) time.Time { return a.At }),
		command.TextColumn("ACTION", func(a AuditRow) string { return a.Action }),
		command.TextColumn("ACTOR", func(a AuditRow) string { return a.Actor }),
		command.TextColumn(whose, func(a AuditRow) string { return a.Group + a.Consumer }),
		id,
		command.TextColumn("TOPIC", func(a AuditRow) string { return a.Topic }),
		command.TextColumn("KEY", func(a AuditRow) string { return a.Key }),
		reason,
	}}
}

// Run lists, or follows.
func (a *Audit) Run(d *command.Deps) error {
	store, err := d.Store(a.Group)
	if err != nil {
		return err
	}
	query := admin.AuditQuery{Group: a.Group, Action: a.Action, Topic: a.Topic, Key: a.Key, ID: a.ID, Since: a.Since.Time, Newest: a.Newest}
	look := func(after int64, limit int) ([]admin.AuditEntry, error) {
		query.After, query.Limit = after, limit
		return store.Audit(d.Context, query)
	}
	if a.Follow {
		return a.follow(d, look)
	}
	return command.Pages(d, a.Paging, AuditList("GROUP"), command.Numbered(look, func(e admin.AuditEntry) int64 { return e.No }, NewAuditRow))
}

func (a *Audit) follow(d *command.Deps, look func(after int64, limit int) ([]admin.AuditEntry, error)) error {
	switch {
	case d.Format == show.JSON:
		return command.Usage("--output", "json", "goes not with --follow: use table or jsonl")
	case a.Newest || a.All:
		return command.Usage("--follow", "true", "excludes --newest and --all")
	}
	after, err := command.Cursor(a.After)
	if err != nil {
		return err
	}
	f := follower{look: look, floor: after, seen: map[int64]bool{}}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		entries, err := f.next()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := printEntry(d, NewAuditRow(e)); err != nil {
				return err
			}
		}
		select {
		case <-d.Context.Done():
			return context.Cause(d.Context)
		case <-ticker.C:
		}
	}
}

func printEntry(d *command.Deps, e AuditRow) error {
	if d.Format == show.JSONL {
		return d.Document(e)
	}
	return d.Paragraph("%d  %s  %s  %s  %s  %s  %s / %s  %s", e.No, d.Clock(e.At), show.Cell(e.Action), show.Cell(e.Actor),
		show.Cell(e.Group), show.Cell(e.ID), show.Cell(e.Topic), show.Cell(e.Key), show.Cell(e.Reason))
}

// follower returns each entry once. Entries do not become visible in the order of their numbers, so it
// reads those of the last minute again.
type follower struct {
	look  func(after int64, limit int) ([]admin.AuditEntry, error)
	floor int64
	seen  map[int64]bool
}

// lateness is how long after its number was drawn an entry may become visible.
const lateness = time.Minute

func (f *follower) next() ([]admin.AuditEntry, error) {
	const most = 10_000
	var fresh []admin.AuditEntry
	var all []admin.AuditEntry
	for after := f.floor; ; {
		entries, err := f.look(after, most)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if len(entries) < most {
			break
		}
		after = entries[most-1].No
	}
	for _, e := range all {
		if !f.seen[e.No] {
			f.seen[e.No] = true
			fresh = append(fresh, e)
		}
	}
	f.forget(all)
	return fresh, nil
}

// forget raises the floor to the last entry that is older than the newest one by more than lateness.
func (f *follower) forget(all []admin.AuditEntry) {
	var newest time.Time
	for _, e := range all {
		if e.At.After(newest) {
			newest = e.At
		}
	}
	for _, e := range all {
		if newest.Sub(e.At) <= lateness {
			return
		}
		f.floor = e.No
		delete(f.seen, e.No)
	}
}
