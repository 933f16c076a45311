// Package inboxes has the commands about inboxes.
package inboxes

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// Inbox are the commands about inboxes.
type Inbox struct {
	Status     InboxStatus     `cmd:"" help:"Figures of the whole inbox."`
	Consumers  InboxConsumers  `cmd:"" help:"Consumers, with what each remembers and has parked."`
	Lookup     InboxLookup     `cmd:"" help:"What each consumer knows of a message."`
	Attempts   InboxAttempts   `cmd:"" help:"Failed messages that will be tried again."`
	Parked     InboxParked     `cmd:"" help:"Parked messages: list, redrive, skip, drop."`
	Watermarks InboxWatermarks `cmd:"" help:"Positions in logs: list, set, remove, accept."`
	Lag        InboxLag        `cmd:"" help:"How far a Kafka group has read, and what the inbox remembers of it."`
	Rewind     InboxRewind     `cmd:"" help:"Rewind a Kafka group after its database went back."`
	Retention  InboxRetention  `cmd:"" help:"What the inbox remembers, and how it forgets."`
	Audit      InboxAudit      `cmd:"" help:"Who did what to which message or partition, and why."`
}

// OpenInbox opens the inbox.
func OpenInbox(d *command.Deps) (inboxadmin.Inbox, error) {
	db, err := d.Open()
	if err != nil {
		return nil, err
	}
	return db.Inbox()
}

// InboxStatus is inbox status.
type InboxStatus struct{}

// inboxStatusRow is the JSON of the status.
type inboxStatusRow struct {
	At           time.Time `json:"at"`
	Consumers    int64     `json:"consumers"`
	Parked       int64     `json:"parked"`
	Redriving    int64     `json:"redriving"`
	Waiting      int64     `json:"waiting"`
	Failing      int64     `json:"failing"`
	Estimated    bool      `json:"estimated,omitempty"`
	OldestParked time.Time `json:"oldest_parked,omitzero"`
	Bytes        int64     `json:"bytes"`
}

// Run prints the figures.
func (*InboxStatus) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	s, err := in.Stats(d.Context)
	if err != nil {
		return err
	}
	row := inboxStatusRow{command.UTC(s.At), s.Consumers, s.Parked, s.Redriving, s.Waiting, s.Failing, s.Estimated, command.UTC(s.OldestParked), s.Bytes}
	count := func(n int64) string { return command.About(s.Estimated) + show.Count(n) }
	return d.Object(row, show.Fact{Name: "consumers", Value: show.Count(s.Consumers)},
		show.Fact{Name: "parked", Value: fmt.Sprintf("%s, redriving %s, waiting behind them %s", count(s.Parked), count(s.Redriving), count(s.Waiting))},
		show.Fact{Name: "oldest", Value: d.Time(row.OldestParked)},
		show.Fact{Name: "failing", Value: count(s.Failing)}, show.Fact{Name: "size", Value: show.Bytes(s.Bytes)})
}

// InboxConsumers is inbox consumers.
type InboxConsumers struct{ command.Paging }

// consumerRow is the JSON of a consumer.
type consumerRow struct {
	Name         string    `json:"name"`
	Since        time.Time `json:"since,omitzero"`
	Remembered   int64     `json:"remembered"`
	Estimated    bool      `json:"estimated,omitempty"`
	Partitions   int64     `json:"partitions"`
	Parked       int64     `json:"parked"`
	Redriving    int64     `json:"redriving"`
	Waiting      int64     `json:"waiting"`
	Failing      int64     `json:"failing"`
	LastActivity time.Time `json:"last_activity,omitzero"`
}

func newConsumerRow(c inboxadmin.Consumer) consumerRow {
	return consumerRow{
		c.Name, command.UTC(c.Since), c.Remembered, c.Estimated, c.Partitions, c.Parked, c.Redriving, c.Waiting, c.Failing, command.UTC(c.LastActivity),
	}
}

// Run prints the list.
func (c *InboxConsumers) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	list := show.List[consumerRow]{Name: "consumers", Empty: "There is no consumer.", Columns: []show.Column[consumerRow]{
		command.TextColumn("CONSUMER", func(c consumerRow) string { return c.Name }),
		{Title: "REMEMBERED", Right: true, Cell: func(_ *show.Printer, c consumerRow) string {
			return command.About(c.Estimated) + show.Count(c.Remembered)
		}},
		command.CountColumn("PARTITIONS", func(c consumerRow) int64 { return c.Partitions }),
		command.CountColumn("PARKED", func(c consumerRow) int64 { return c.Parked }),
		command.CountColumn("REDRIVING", func(c consumerRow) int64 { return c.Redriving }),
		command.CountColumn("WAITING", func(c consumerRow) int64 { return c.Waiting }),
		command.CountColumn("FAILING", func(c consumerRow) int64 { return c.Failing }),
		command.TimeColumn("ACTIVE", func(c consumerRow) time.Time { return c.LastActivity }),
	}}
	return command.Pages(d, c.Paging, list, func(after string, limit int) ([]consumerRow, string, error) {
		found, err := in.Consumers(d.Context, inboxadmin.ConsumersQuery{After: after, Limit: limit})
		if err != nil || len(found) < limit {
			return command.RowsOf(found, newConsumerRow), "", err
		}
		return command.RowsOf(found, newConsumerRow), found[limit-1].Name, nil
	})
}

// InboxLookup is inbox lookup.
type InboxLookup struct {
	ID       string `arg:""`
	Consumer string `placeholder:"CONSUMER" help:"This consumer only." predictor:"consumer"`
}

// SightingRow is the JSON of what a consumer has recorded of a message.
type SightingRow struct {
	Consumer    string    `json:"consumer"`
	State       string    `json:"state"`
	ProcessedAt time.Time `json:"processed_at,omitzero"`
	Attempts    int       `json:"attempts,omitempty"`
	LastError   string    `json:"last_error,omitempty"`
	Parked      []int64   `json:"parked,omitempty"`
}

// How describes in words what happened to the message.
func (s SightingRow) How() string {
	if s.Attempts == 0 {
		return ""
	}
	return show.Things(int64(s.Attempts), "attempt") + ", " + show.Plain(s.LastError)
}

func newSightingRow(s inboxadmin.Sighting) SightingRow {
	return SightingRow{s.Consumer, string(s.State), command.UTC(s.ProcessedAt), s.History.Attempts, lastError(s.History), s.Parked}
}

func lastError(h driver.History) string {
	if len(h.Errors) == 0 {
		return ""
	}
	return h.Errors[len(h.Errors)-1].Error
}

// Run lists what each consumer has recorded.
func (l *InboxLookup) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	found, err := in.Lookup(d.Context, inboxadmin.LookupQuery{ID: l.ID, Consumer: l.Consumer})
	if err != nil {
		return err
	}
	list := show.List[SightingRow]{Name: "consumers", Empty: "There is no consumer.", Columns: []show.Column[SightingRow]{
		command.TextColumn("CONSUMER", func(s SightingRow) string { return s.Consumer }),
		command.TextColumn("STATE", func(s SightingRow) string { return s.State }),
		command.TimeColumn("PROCESSED", func(s SightingRow) time.Time { return s.ProcessedAt }),
		command.CountColumn("ATTEMPTS", func(s SightingRow) int64 { return int64(s.Attempts) }),
		command.SentenceColumn("LAST ERROR", func(s SightingRow) string { return s.LastError }),
	}}
	return list.Print(d.Printer, command.RowsOf(found, newSightingRow), "")
}

// Sightings returns what the inbox has recorded of a message, and nothing if the inbox does not exist.
func Sightings(d *command.Deps, q inboxadmin.LookupQuery) ([]SightingRow, error) {
	in, err := OpenInbox(d)
	if err != nil {
		return nil, err
	}
	found, err := in.Lookup(d.Context, q)
	if errors.Is(err, outbox.ErrNotMigrated) {
		return []SightingRow{}, nil
	}
	return command.RowsOf(found, newSightingRow), err
}

// InboxAttempts is inbox attempts.
type InboxAttempts struct {
	command.Paging

	Consumer string         `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
	Since    command.Moment `placeholder:"TIME" help:"Last tried since this time or age, such as 2h."`
	Running  bool           `help:"Include messages that have not failed yet."`
}

// attemptsRow is the JSON of a message with failed attempts.
type attemptsRow struct {
	ID        string    `json:"id"`
	Attempts  int       `json:"attempts"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	LastError string    `json:"last_error,omitempty"`
}

// Run prints the list.
func (a *InboxAttempts) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	id, lastOne := command.Identified("ID", func(a attemptsRow) string { return a.ID }, "LAST ERROR", func(a attemptsRow) string { return a.LastError })
	list := show.List[attemptsRow]{Name: "messages", Empty: "No message is tried.", Columns: []show.Column[attemptsRow]{
		id,
		command.CountColumn("ATTEMPTS", func(a attemptsRow) int64 { return int64(a.Attempts) }),
		command.TimeColumn("FIRST", func(a attemptsRow) time.Time { return a.First }),
		command.TimeColumn("LAST", func(a attemptsRow) time.Time { return a.Last }),
		lastOne,
	}}
	row := func(a inboxadmin.Attempts) attemptsRow {
		return attemptsRow{a.ID, a.Attempts, command.UTC(a.First), command.UTC(a.Last), lastError(a.History)}
	}
	return command.Pages(d, a.Paging, list, func(after string, limit int) ([]attemptsRow, string, error) {
		found, err := in.Attempts(d.Context, inboxadmin.AttemptsQuery{Consumer: a.Consumer, Since: a.Since.Time, All: a.Running, After: after, Limit: limit})
		if err != nil || len(found) < limit {
			return command.RowsOf(found, row), "", err
		}
		return command.RowsOf(found, row), found[limit-1].ID, nil
	})
}

// InboxAudit is inbox audit.
type InboxAudit struct {
	command.Paging

	Consumer string         `placeholder:"CONSUMER" help:"This consumer only." predictor:"consumer"`
	Action   string         `placeholder:"ACTION" help:"This action only: park, redrive, drop, set_watermark, …"`
	ID       string         `placeholder:"ID" help:"The record or message with this id."`
	Since    command.Moment `placeholder:"TIME" help:"Since this time or age, such as 2h."`
	Newest   bool           `help:"The newest first."`
}

// Run prints the list.
func (a *InboxAudit) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	auditor, err := command.Capable[inboxadmin.Auditor](d, in, err, "tell who has changed what")
	if err != nil {
		return err
	}
	return command.Pages(d, a.Paging, changes.AuditList("CONSUMER"), command.Numbered(func(after int64, limit int) ([]inboxadmin.AuditEntry, error) {
		return auditor.Audit(d.Context, inboxadmin.AuditQuery{
			Consumer: a.Consumer, Action: a.Action, ID: a.ID, Since: a.Since.Time, After: after, Newest: a.Newest, Limit: limit,
		})
	}, func(e inboxadmin.AuditEntry) int64 { return e.No }, func(e inboxadmin.AuditEntry) changes.AuditRow {
		return changes.AuditRow{
			No: e.No, At: command.UTC(e.At), Action: e.Action, Actor: e.Actor, Reason: e.Reason, Consumer: e.Consumer,
			ID: e.ID, Topic: e.Topic, Key: e.Key, Details: e.Details,
		}
	}))
}
