package inboxes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/inbox/driver"
)

// ConsumerGroup are the flags of a Kafka consumer group.
type ConsumerGroup struct {
	Group   string   `required:"" placeholder:"GROUP" help:"Consumer group of Kafka."`
	Topic   []string `placeholder:"TOPIC" sep:"none" help:"This topic only; repeat it. Defaults to all with offsets."`
	Brokers string   `placeholder:"LIST" help:"Kafka's seed brokers, such as k1:9092,k2:9092 (LEAT_KAFKA_BROKERS)."`
}

// groupRow is the JSON of a partition. Committed is -1 if the group has not committed an offset.
type groupRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"`
	Mark      *int64 `json:"mark,omitempty"`
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`
	To        *int64 `json:"to,omitempty"`
}

// ahead is how many offsets the group is ahead of the mark in the database.
func (r groupRow) ahead() int64 {
	if r.Mark == nil {
		return 0
	}
	return max(0, r.Committed-*r.Mark)
}

// back is how many messages will be delivered again.
func (r groupRow) back() int64 {
	if r.To == nil {
		return 0
	}
	return r.Committed - *r.To
}

// open opens the group.
func (g ConsumerGroup) open(d *command.Deps) (*sink.Group, error) {
	if err := command.CheckBrokers(g.Brokers); err != nil {
		return nil, err
	}
	at, err := d.Kafka(g.Brokers)
	if err != nil {
		return nil, err
	}
	return sink.OpenGroup(at, g.Group)
}

// rows are the group's partitions, with the inbox's marks if a database is configured.
func (g ConsumerGroup) rows(d *command.Deps, group *sink.Group) ([]groupRow, error) {
	parts, err := group.Partitions(d.Context, g.Topic)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: group %q has committed no offset", command.ErrNothing, g.Group)
	}
	marker, err := g.marker(d)
	if err != nil {
		return nil, err
	}
	rows := make([]groupRow, len(parts))
	var marks driver.Marks
	for i, p := range parts {
		if marker != nil && (i == 0 || p.Topic != parts[i-1].Topic) {
			if marks, err = marker.Marks(d.Context, driver.GroupTopic{Group: g.Group, Topic: p.Topic, Source: p.Source}); err != nil {
				return nil, err
			}
		}
		rows[i] = groupRow{Topic: p.Topic, Partition: p.Partition, Committed: p.Committed, End: p.End, Lag: max(0, p.End-max(p.Committed, p.Start))}
		if m, ok := marks.Partitions[p.Partition]; ok {
			rows[i].Mark = &m.Next
		}
	}
	return rows, nil
}

// marker returns the marks of the inbox, nil if a database is not configured.
func (g ConsumerGroup) marker(d *command.Deps) (driver.Marker, error) {
	if _, err := d.DatabaseURL(); err != nil && !d.Settings.Database.Set() {
		return nil, nil //nolint:nilnil // without a database there are no marks
	}
	db, err := d.Open()
	store, err := command.Capable[open.Marks](d, db, err, "note offsets")
	if err != nil {
		return nil, err
	}
	return store.Marker()
}

func offsetColumn(title string, get func(groupRow) *int64) show.Column[groupRow] {
	return show.Column[groupRow]{Title: title, Right: true, Cell: func(_ *show.Printer, r groupRow) string {
		if at := get(r); at != nil && *at >= 0 {
			return strconv.FormatInt(*at, 10)
		}
		return show.None
	}}
}

func groupList(more ...show.Column[groupRow]) show.List[groupRow] {
	return show.List[groupRow]{Name: "partitions", Empty: "There is no partition.", Columns: append([]show.Column[groupRow]{
		command.TextColumn("TOPIC", func(r groupRow) string { return r.Topic }),
		command.IDColumn("PARTITION", func(r groupRow) int64 { return int64(r.Partition) }),
		offsetColumn("COMMITTED", func(r groupRow) *int64 { return &r.Committed }),
		offsetColumn("MARK", func(r groupRow) *int64 { return r.Mark }),
		offsetColumn("END", func(r groupRow) *int64 { return &r.End }),
	}, more...)}
}

// InboxLag is inbox lag.
type InboxLag struct {
	ConsumerGroup

	Drained bool `help:"Exit status 5 unless the group has read everything."`
}

// Run lists the partitions.
func (l *InboxLag) Run(d *command.Deps) error {
	group, err := l.open(d)
	if err != nil {
		return err
	}
	defer group.Close()
	rows, err := l.rows(d, group)
	if err != nil {
		return err
	}
	list := groupList(command.CountColumn("LAG", func(r groupRow) int64 { return r.Lag }))
	if err := list.Print(d.Printer, rows, ""); err != nil {
		return err
	}
	lag, ahead := int64(0), int64(0)
	for _, r := range rows {
		lag += r.Lag
		ahead += r.ahead()
	}
	if ahead > 0 {
		d.Note("The group is %s beyond what the inbox's database remembers: it went back. Members that have Marks read them again; leat inbox rewind --to marks does it for others.", show.Things(ahead, "message"))
	}
	if l.Drained && lag > 0 {
		return command.ErrFindings
	}
	return nil
}

// InboxRewind is inbox rewind.
type InboxRewind struct {
	ConsumerGroup

	To     string `required:"" placeholder:"WHERE" help:"marks (what the inbox remembers), committed (where the group is), or a time or age, such as 2026-01-05T10:00:00Z or 2h."`
	DryRun bool   `help:"Show what would change; change nothing."`
	Yes    bool   `short:"y" help:"Do not ask. Required without a terminal."`
}

// Values of To other than a time.
const (
	toMarks     = "marks"
	toCommitted = "committed"
)

// Run sets the group's offsets, never forwards.
func (w *InboxRewind) Run(d *command.Deps) error {
	if err := command.CheckBrokers(w.Brokers); err != nil {
		return err
	}
	var at command.Moment
	if w.To != toMarks && w.To != toCommitted {
		if err := at.UnmarshalText([]byte(w.To)); err != nil {
			return command.Usage("--to", w.To, "must be marks, committed, a time such as 2026-01-05T10:00:00Z, or a duration ago such as 90m")
		}
	}
	group, err := w.open(d)
	if err != nil {
		return err
	}
	defer group.Close()
	rows, err := w.rows(d, group)
	if err != nil {
		return err
	}
	if rows, err = w.targets(d.Context, group, rows, at.Time); err != nil {
		return err
	}
	if err := w.idle(d.Context, group); err != nil {
		return err
	}
	back := int64(0)
	for _, r := range rows {
		back += r.back()
	}
	list := groupList(offsetColumn("TO", func(r groupRow) *int64 { return r.To }), command.CountColumn("AGAIN", groupRow.back))
	if w.DryRun {
		return list.Print(d.Printer, rows, "")
	}
	text := fmt.Sprintf("Would set group %s to %s: %s are delivered again.", show.Cell(w.Group), show.Cell(w.To), show.Things(back, "message"))
	if err := d.Confirm(command.Changing{Yes: w.Yes}, ask.Question{Text: text, Name: w.Group}); err != nil {
		return err
	}
	parts := make([]sink.GroupPartition, len(rows))
	for i, r := range rows {
		parts[i] = sink.GroupPartition{Topic: r.Topic, Partition: r.Partition, Committed: *r.To}
	}
	if err := group.Commit(d.Context, parts); err != nil {
		return err
	}
	return list.Print(d.Printer, rows, "")
}

// idle returns an error if the group has members: their next commit would undo the change.
func (w *InboxRewind) idle(ctx context.Context, group *sink.Group) error {
	members, err := group.Members(ctx)
	if err == nil && members > 0 {
		err = fmt.Errorf("%w: group %q has %s: stop them first", command.ErrMembers, w.Group, show.Things(int64(members), "member"))
	}
	return err
}

// targets returns the partitions that have an offset, each with its new offset.
func (w *InboxRewind) targets(ctx context.Context, group *sink.Group, rows []groupRow, at time.Time) ([]groupRow, error) {
	first := func(string, int32) (int64, bool) { return 0, false }
	if !at.IsZero() {
		names := make([]string, len(rows))
		for i, r := range rows {
			names[i] = r.Topic
		}
		var err error
		if first, err = group.At(ctx, at, slices.Compact(names)); err != nil {
			return nil, err
		}
	}
	kept, marks := rows[:0:0], 0
	for _, r := range rows {
		if r.Committed < 0 {
			continue
		}
		to := r.Committed
		if r.Mark != nil {
			marks++
		}
		if w.To == toMarks && r.Mark != nil {
			to = min(to, *r.Mark)
		}
		if offset, ok := first(r.Topic, r.Partition); ok {
			to = min(to, offset)
		}
		r.To = &to
		kept = append(kept, r)
	}
	switch {
	case len(kept) == 0:
		return nil, fmt.Errorf("%w: group %q has committed no offset of these topics", command.ErrNothing, w.Group)
	case w.To == toMarks && marks == 0:
		return nil, fmt.Errorf("%w: the inbox has no marks of group %q: name its database, or a time before the one to which the database went back", command.ErrNothing, w.Group)
	}
	return kept, nil
}
