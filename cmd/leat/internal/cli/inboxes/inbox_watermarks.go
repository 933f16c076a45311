package inboxes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

// InboxWatermarks are the commands about positions in logs.
type InboxWatermarks struct {
	List   WatermarksList   `cmd:"" help:"A consumer's partitions and positions."`
	Set    WatermarksSet    `cmd:"" help:"Move a consumer to another offset of a partition."`
	Remove WatermarksRemove `cmd:"" help:"Forget a partition whose topic is gone."`
	Accept WatermarksAccept `cmd:"" help:"Accept a topic that was created again or moved."`
}

func openWatermarks(d *command.Deps) (inboxadmin.Watermarks, error) {
	in, err := OpenInbox(d)
	return command.Capable[inboxadmin.Watermarks](d, in, err, "remember positions")
}

// WatermarksList is inbox watermarks list.
type WatermarksList struct {
	Consumer string `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
}

// watermarkRow is the JSON of a partition.
type watermarkRow struct {
	Topic     string `json:"topic"`
	Source    string `json:"source"`
	Partition int32  `json:"partition"`
	Next      int64  `json:"next"`
	Current   bool   `json:"current"`
}

// Run prints the list.
func (w *WatermarksList) Run(d *command.Deps) error {
	marks, err := openWatermarks(d)
	if err != nil {
		return err
	}
	found, err := marks.Partitions(d.Context, inboxadmin.PartitionsQuery{Consumer: w.Consumer})
	if err != nil {
		return err
	}
	list := show.List[watermarkRow]{Name: "partitions", Empty: "No position is remembered.", Columns: []show.Column[watermarkRow]{
		command.TextColumn("TOPIC", func(w watermarkRow) string { return w.Topic }),
		command.TextColumn("SOURCE", func(w watermarkRow) string { return w.Source }),
		command.IDColumn("PARTITION", func(w watermarkRow) int64 { return int64(w.Partition) }),
		command.IDColumn("NEXT", func(w watermarkRow) int64 { return w.Next }),
		command.TextColumn("CURRENT", func(w watermarkRow) string { return map[bool]string{true: "yes", false: "no"}[w.Current] }),
	}}
	return list.Print(d.Printer, command.RowsOf(found, func(p inboxadmin.PartitionState) watermarkRow {
		return watermarkRow{p.Topic, p.Source, p.Partition, p.Next, p.Current}
	}), "")
}

// WatermarkPartition are the flags of a partition.
type WatermarkPartition struct {
	Consumer  string `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
	Topic     string `required:"" placeholder:"TOPIC" help:"The topic."`
	Source    string `placeholder:"ID" help:"Id of the topic, as list shows it."`
	Partition int32  `required:"" placeholder:"N" help:"Partition, from 0."`
}

func (w WatermarkPartition) partition() inboxadmin.TopicPartition {
	return inboxadmin.TopicPartition{Topic: w.Topic, Source: w.Source, Partition: w.Partition}
}

func (w WatermarkPartition) check() error {
	if w.Partition < 0 {
		return command.Usage("--partition", strconv.Itoa(int(w.Partition)), "must not be negative")
	}
	return nil
}

// watermarkChange is the JSON of a change of a position.
type watermarkChange struct {
	Action    string `json:"action"`
	DryRun    bool   `json:"dry_run"`
	Consumer  string `json:"consumer"`
	Topic     string `json:"topic"`
	Partition *int32 `json:"partition,omitempty"`
	Previous  any    `json:"previous"`
	Next      any    `json:"next,omitempty"`

	name, text string
}

// run shows the change, asks for confirmation, and makes it.
func (c watermarkChange) run(d *command.Deps, flags command.Changing, change func(dryRun bool) (previous any, err error)) error {
	previous, err := change(true)
	if err != nil {
		return err
	}
	c.Previous, c.DryRun = previous, flags.DryRun
	text := fmt.Sprintf(c.text, previous)
	if !flags.DryRun {
		if err := d.Confirm(flags, ask.Question{Text: "Would change " + text + ".", Name: c.name}); err != nil {
			return err
		}
		if c.Previous, err = change(false); err != nil {
			return err
		}
	}
	if d.Format != show.Table {
		return d.Document(c)
	}
	if flags.DryRun {
		return d.Paragraph("Would change %s.", text)
	}
	return d.Paragraph("Changed %s.", text)
}

// WatermarksSet is inbox watermarks set.
type WatermarksSet struct {
	command.Changing
	WatermarkPartition

	Next int64 `required:"" placeholder:"OFFSET" help:"Offset to process next. Skipped messages never run; repeated ones run again."`
}

// Run sets the position.
func (w *WatermarksSet) Run(d *command.Deps) error {
	if err := w.check(); err != nil {
		return err
	}
	if w.Next < 0 {
		return command.Usage("--next", strconv.FormatInt(w.Next, 10), "must not be negative")
	}
	by, err := d.By(w.Changing)
	if err != nil {
		return err
	}
	marks, err := openWatermarks(d)
	if err != nil {
		return err
	}
	return watermarkChange{
		Action: "set_watermark", Consumer: w.Consumer, Topic: w.Topic, Partition: &w.Partition, Next: w.Next,
		text: fmt.Sprintf("%s: goes on at %d instead of %%d", w.partition(), w.Next),
	}.run(d, w.Changing, func(dryRun bool) (any, error) {
		return marks.SetWatermark(d.Context, inboxadmin.SetWatermarkRequest{
			By: by, TopicPartition: w.partition(), Consumer: w.Consumer, Next: w.Next, DryRun: dryRun,
		})
	})
}

// WatermarksRemove is inbox watermarks remove.
type WatermarksRemove struct {
	command.Changing
	WatermarkPartition
}

// Run removes the partition's position.
func (w *WatermarksRemove) Run(d *command.Deps) error {
	if err := w.check(); err != nil {
		return err
	}
	by, err := d.By(w.Changing)
	if err != nil {
		return err
	}
	marks, err := openWatermarks(d)
	if err != nil {
		return err
	}
	return watermarkChange{
		Action: "remove_watermark", Consumer: w.Consumer, Topic: w.Topic, Partition: &w.Partition, name: w.Topic,
		text: fmt.Sprintf("%s: forgotten, it would have gone on at %%d", w.partition()),
	}.run(d, w.Changing, func(dryRun bool) (any, error) {
		return marks.RemoveWatermark(d.Context, inboxadmin.RemoveWatermarkRequest{
			By: by, TopicPartition: w.partition(), Consumer: w.Consumer, DryRun: dryRun,
		})
	})
}

// WatermarksAccept is inbox watermarks accept.
type WatermarksAccept struct {
	command.Changing

	Consumer string `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
	Topic    string `required:"" placeholder:"TOPIC" help:"The topic."`
	Source   string `required:"" placeholder:"ID" help:"The topic's new id, which the consumer's error names."`
}

// Run accepts the source.
func (w *WatermarksAccept) Run(d *command.Deps) error {
	by, err := d.By(w.Changing)
	if err != nil {
		return err
	}
	marks, err := openWatermarks(d)
	if err != nil {
		return err
	}
	return watermarkChange{
		Action: "accept_source", Consumer: w.Consumer, Topic: w.Topic, Next: w.Source,
		text: fmt.Sprintf("topic %s: is %s instead of %%q", show.Plain(w.Topic), show.Plain(w.Source)),
	}.run(d, w.Changing, func(dryRun bool) (any, error) {
		return marks.AcceptSource(d.Context, inboxadmin.AcceptSourceRequest{By: by, Consumer: w.Consumer, Topic: w.Topic, Source: w.Source, DryRun: dryRun})
	})
}

// InboxRetention are the commands about an inbox's retention.
type InboxRetention struct {
	Show   InboxRetentionShow   `cmd:"" help:"What the inbox remembers, and what it forgets next."`
	Enable InboxRetentionEnable `cmd:"" help:"Enable retention, once."`
	Lower  InboxRetentionLower  `cmd:"" help:"Lower a floor that a wrong clock has raised."`
}

// InboxRetentionShow is inbox retention show.
type InboxRetentionShow struct{}

// retentionRow is the JSON of an inbox's retention.
type retentionRow struct {
	Mode         string              `json:"mode"`
	At           time.Time           `json:"at"`
	Floor        time.Time           `json:"floor,omitzero"`
	KeptSeconds  float64             `json:"kept_seconds"`
	Cutover      time.Time           `json:"cutover,omitzero"`
	WidthSeconds float64             `json:"width_seconds"`
	NextDrop     time.Time           `json:"next_drop,omitzero"`
	Ranges       []retentionRangeRow `json:"ranges"`
}

type retentionRangeRow struct {
	Name     string    `json:"name"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Bytes    int64     `json:"bytes"`
	Estimate int64     `json:"estimate"`
}

// Run prints it.
func (*InboxRetentionShow) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	retainer, err := command.Capable[inboxadmin.Retainer](d, in, err, "forget")
	if err != nil {
		return err
	}
	r, err := retainer.Retention(d.Context)
	if err != nil {
		return err
	}
	row := retentionRow{
		Mode: string(r.Mode), At: command.UTC(r.At), Floor: command.UTC(r.Floor), KeptSeconds: show.Seconds(r.Kept), Cutover: command.UTC(r.Cutover),
		WidthSeconds: show.Seconds(r.Width), NextDrop: command.UTC(r.NextDrop),
		Ranges: command.RowsOf(r.Ranges, func(r inboxadmin.RetentionRange) retentionRangeRow {
			return retentionRangeRow{r.Name, command.UTC(r.From), command.UTC(r.To), r.Bytes, r.Estimate}
		}),
	}
	facts := []show.Fact{
		{Name: "mode", Value: row.Mode},
		{Name: "floor", Value: d.Time(row.Floor) + ahead(r)},
		{Name: "cut-over", Value: d.Time(row.Cutover)},
		{Name: "next drop", Value: d.Time(row.NextDrop)},
	}
	if r.Width > 0 {
		facts = append(facts, show.Fact{Name: "width", Value: show.Duration(r.Width)})
	}
	for _, one := range row.Ranges {
		facts = append(facts, show.Fact{Name: "range", Value: fmt.Sprintf("%s, %s to %s, %s", show.Plain(one.Name), d.Time(one.From), d.Time(one.To), show.Bytes(one.Bytes))})
	}
	return d.Object(row, facts...)
}

// InboxRetentionEnable is inbox retention enable. It takes no reason, since there is no audit that could
// store it.
type InboxRetentionEnable struct {
	Retention command.Span `required:"" placeholder:"DURATION" help:"How long ids are remembered, as in your services, such as 14d."`
	Width     command.Span `default:"24h" placeholder:"DURATION" help:"Time that a new range covers, 1s to 366d."`
	DryRun    bool         `help:"Show what would change; change nothing."`
	Yes       bool         `short:"y" help:"Do not ask. Required without a terminal."`
}

// Run enables it.
func (e *InboxRetentionEnable) Run(d *command.Deps) error {
	retention, width := time.Duration(e.Retention), time.Duration(e.Width)
	switch {
	case width < time.Second || width > 366*24*time.Hour:
		return command.Usage("--width", width.String(), "must be 1s to 366d")
	case retention < width:
		return command.Usage("--retention", retention.String(), "must be at least --width "+width.String())
	}
	db, err := d.Open()
	enabler, err := command.Capable[open.RetentionEnabler](d, db, err, "be made to forget")
	if err != nil {
		return err
	}
	in, err := db.Inbox()
	retainer, err := command.Capable[inboxadmin.Retainer](d, in, err, "forget")
	if err != nil {
		return err
	}
	now, err := retainer.Retention(d.Context)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Retention is %s, and would be enabled with ranges of %s; maintenance then forgets what is older than %s.",
		now.Mode, show.Duration(width), show.Duration(retention))
	row := struct {
		Action string `json:"action"`
		DryRun bool   `json:"dry_run"`
		Mode   string `json:"mode"`
	}{"enable_retention", e.DryRun, string(now.Mode)}
	if e.DryRun {
		return d.Object(row, show.Fact{Name: "dry run", Value: text})
	}
	if err := d.Confirm(command.Changing{Yes: e.Yes}, ask.Question{Text: text}); err != nil {
		return err
	}
	if err := enabler.EnableRetention(d.Context, retention, width); err != nil {
		return err
	}
	if now, err = retainer.Retention(d.Context); err != nil {
		return err
	}
	row.Mode = string(now.Mode)
	return d.Object(row, show.Fact{Name: "mode", Value: row.Mode})
}

// ahead is the advice for a floor that is ahead of the clock.
func ahead(r inboxadmin.Retention) string {
	if r.Kept >= 0 {
		return ""
	}
	return fmt.Sprintf(", %s ahead of the database's clock: messages that are made until then are too old; leat inbox retention lower", show.Duration(-r.Kept))
}

// InboxRetentionLower is inbox retention lower.
type InboxRetentionLower struct {
	command.Changing

	To        command.Moment `placeholder:"TIME" help:"Accept messages made from then on. Defaults to the database's clock."`
	MayRepeat bool           `help:"Allow a --to in the past: messages made since may run again."`
}

// floorChange is the JSON of a lowered floor.
type floorChange struct {
	Action        string    `json:"action"`
	DryRun        bool      `json:"dry_run"`
	Previous      time.Time `json:"previous"`
	To            time.Time `json:"to"`
	RepeatSeconds float64   `json:"repeat_seconds"`
	Parked        int64     `json:"parked"`
}

// Run shows the consequences, asks for confirmation, and lowers the floor.
func (l *InboxRetentionLower) Run(d *command.Deps) error {
	by, err := d.By(l.Changing)
	if err != nil {
		return err
	}
	in, err := OpenInbox(d)
	retainer, err := command.Capable[inboxadmin.Retainer](d, in, err, "forget")
	if err != nil {
		return err
	}
	request := inboxadmin.LowerFloorRequest{By: by, To: l.To.Time, MayRepeat: l.MayRepeat, DryRun: true}
	now, err := retainer.Retention(d.Context)
	if err != nil {
		return err
	}
	previous, err := retainer.LowerFloor(d.Context, request)
	if err != nil && !l.To.IsZero() {
		err = fmt.Errorf("--to %s, --may-repeat=%t: %w", l.To.Format(time.RFC3339), l.MayRepeat, err)
	}
	if err != nil {
		return err
	}
	row := floorChange{Action: "lower_floor", DryRun: l.DryRun, Previous: command.UTC(previous), To: command.UTC(now.At)}
	again := "Nothing that was forgotten runs again."
	if l.To.Before(now.At) && !l.To.IsZero() {
		row.To, row.RepeatSeconds = command.UTC(l.To.Time), show.Seconds(now.At.Sub(l.To.Time))
		again = fmt.Sprintf("Of those that were made in the last %s, what took effect and was forgotten runs again if it is delivered again.",
			show.Duration(now.At.Sub(l.To.Time)))
	}
	if row.Parked, err = tooOld(d, in); err != nil {
		return err
	}
	text := fmt.Sprintf("The floor is %s, and would be %s: messages that were made from then on are accepted again. %s", d.Time(row.Previous), d.Time(row.To), again)
	if row.Parked > 0 {
		text += fmt.Sprintf(" %s are parked since they were too old: see leat inbox parked errors, and redrive them.", show.Count(row.Parked))
	}
	if l.DryRun {
		return d.Object(row, show.Fact{Name: "dry run", Value: text})
	}
	if err := d.Confirm(l.Changing, ask.Question{Text: text}); err != nil {
		return err
	}
	request.DryRun = false
	if _, err := retainer.LowerFloor(d.Context, request); err != nil {
		return err
	}
	if now, err = retainer.Retention(d.Context); err != nil {
		return err
	}
	row.To = command.UTC(now.Floor)
	return d.Object(row, show.Fact{Name: "floor", Value: d.Time(row.To)}, show.Fact{Name: "too old and parked", Value: show.Count(row.Parked)})
}

// tooOld is how many messages were parked because they were too old.
func tooOld(d *command.Deps, in inboxadmin.Inbox) (n int64, err error) {
	groups, err := in.Failures(d.Context, inboxadmin.FailuresQuery{Limit: mostOfInbox})
	for _, g := range groups {
		if strings.Contains(g.Example, driver.ErrTooOld.Error()) {
			n += g.Count
		}
	}
	return n, err
}
