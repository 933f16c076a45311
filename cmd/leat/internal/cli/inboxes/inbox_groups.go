package inboxes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/inbox/driver"
)

// ConsumerGroup are the flags of a group of Kafka.
type ConsumerGroup struct {
	Group   string   `required:"" placeholder:"GROUP" help:"Consumer group of Kafka."`
	Topic   []string `placeholder:"TOPIC" sep:"none" help:"This topic only; repeat it. Defaults to all that the group has offsets of."`
	Brokers string   `placeholder:"LIST" help:"Seed brokers, host:port, separated by commas (LEAT_KAFKA_BROKERS)."`
}

// groupRow is the JSON of a partition. A committed offset of -1 is none.
type groupRow struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed"`
	Mark      *int64 `json:"mark,omitempty"`
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`
	To        *int64 `json:"to,omitempty"`
}

// ahead is how many offsets the group is beyond what the database remembers.
func (r groupRow) ahead() int64 {
	if r.Mark == nil {
		return 0
	}
	return max(0, r.Committed-*r.Mark)
}

// back is how many messages are delivered again.
func (r groupRow) back() int64 {
	if r.To == nil {
		return 0
	}
	return r.Committed - *r.To
}

// connect opens the cluster.
func (g ConsumerGroup) connect(d *command.Deps) (*kgo.Client, error) {
	if err := command.CheckBrokers(g.Brokers); err != nil {
		return nil, err
	}
	at, err := d.Kafka(g.Brokers)
	if err != nil {
		return nil, err
	}
	options, err := sink.Options(at)
	if err != nil {
		return nil, err
	}
	return kgo.NewClient(append(options, kgo.SeedBrokers(settings.List(at.Brokers.Value)...), kgo.ClientID("leat"))...)
}

// rows are the group's partitions, with the marks of the inbox if a database is named.
func (g ConsumerGroup) rows(d *command.Deps, kafka *kadm.Client) ([]groupRow, error) {
	committed, err := kafka.FetchOffsets(d.Context, g.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, err
	}
	names := g.Topic
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(committed.Offsets()))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: group %q has committed no offset", command.ErrNothing, g.Group)
	}
	topics, err := kafka.ListTopics(d.Context, names...)
	if err = errors.Join(err, topics.Error()); err != nil {
		return nil, err
	}
	starts, err1 := kafka.ListStartOffsets(d.Context, names...)
	ends, err2 := kafka.ListEndOffsets(d.Context, names...)
	if err := errors.Join(err1, err2, starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	var rows []groupRow
	for _, topic := range topics.Sorted() {
		marks, err := g.marks(d, topic)
		if err != nil {
			return nil, err
		}
		for _, p := range topic.Partitions.Sorted() {
			start, _ := starts.Lookup(topic.Topic, p.Partition)
			end, _ := ends.Lookup(topic.Topic, p.Partition)
			row := groupRow{Topic: topic.Topic, Partition: p.Partition, Committed: -1, End: end.Offset, Lag: end.Offset - start.Offset}
			if o, ok := committed.Lookup(topic.Topic, p.Partition); ok && o.At >= 0 {
				row.Committed, row.Lag = o.At, max(0, end.Offset-max(o.At, start.Offset))
			}
			if m, ok := marks.Partitions[p.Partition]; ok {
				row.Mark = &m.Next
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// marks are those of the inbox, none if no database is named.
func (g ConsumerGroup) marks(d *command.Deps, topic kadm.TopicDetail) (driver.Marks, error) {
	if _, err := d.DatabaseURL(); err != nil && !d.Settings.Database.Set() {
		return driver.Marks{}, nil
	}
	db, err := d.Open()
	store, err := command.Capable[open.Marks](d, db, err, "note offsets")
	if err != nil {
		return driver.Marks{}, err
	}
	in, err := store.Marker()
	if err != nil {
		return driver.Marks{}, err
	}
	of := driver.GroupTopic{Group: g.Group, Topic: topic.Topic}
	if id := uuid.UUID(topic.ID); id != uuid.Nil {
		of.Source = id.String()
	}
	return in.Marks(d.Context, of)
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

	Drained bool `help:"Exit with 5 unless the group has read all there is."`
}

// Run lists the partitions.
func (l *InboxLag) Run(d *command.Deps) error {
	client, err := l.connect(d)
	if err != nil {
		return err
	}
	defer client.Close()
	rows, err := l.rows(d, kadm.NewClient(client))
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

	To     string `required:"" placeholder:"WHERE" help:"marks: what the inbox's database remembers; committed: where the group is; or a time such as 2026-01-05T10:00:00Z, or so long ago, such as 2h."`
	DryRun bool   `help:"Say what would be changed, and change nothing."`
	Yes    bool   `short:"y" help:"Do not ask for confirmation. Required if standard input is not a terminal."`
}

// What To names beside a time.
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
	client, err := w.connect(d)
	if err != nil {
		return err
	}
	defer client.Close()
	kafka := kadm.NewClient(client)
	rows, err := w.rows(d, kafka)
	if err != nil {
		return err
	}
	if rows, err = w.targets(d.Context, kafka, rows, at.Time); err != nil {
		return err
	}
	if err := w.idle(d.Context, kafka); err != nil {
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
	offsets := kadm.Offsets{}
	for _, r := range rows {
		offsets.Add(kadm.Offset{Topic: r.Topic, Partition: r.Partition, At: *r.To, LeaderEpoch: -1})
	}
	if err := kafka.CommitAllOffsets(d.Context, w.Group, offsets); err != nil {
		return err
	}
	return list.Print(d.Printer, rows, "")
}

// idle returns an error if the group has members: their next commit would undo the change.
func (w *InboxRewind) idle(ctx context.Context, kafka *kadm.Client) error {
	groups, err := kafka.DescribeGroups(ctx, w.Group)
	if err == nil {
		err = groups.Error()
	}
	if err != nil {
		return err
	}
	if members := len(groups[w.Group].Members); members > 0 {
		return fmt.Errorf("%w: group %q has %s: stop them first", command.ErrMembers, w.Group, show.Things(int64(members), "member"))
	}
	return nil
}

// targets are the partitions that have an offset, with where they go on.
func (w *InboxRewind) targets(ctx context.Context, kafka *kadm.Client, rows []groupRow, at time.Time) ([]groupRow, error) {
	var listed kadm.ListedOffsets
	if !at.IsZero() {
		names := make([]string, len(rows))
		for i, r := range rows {
			names[i] = r.Topic
		}
		slices.Sort(names)
		var err error
		listed, err = kafka.ListOffsetsAfterMilli(ctx, at.UnixMilli(), slices.Compact(names)...)
		if err = errors.Join(err, listed.Error()); err != nil {
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
		if o, ok := listed.Lookup(r.Topic, r.Partition); ok && o.Offset >= 0 {
			to = min(to, o.Offset)
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
