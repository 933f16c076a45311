package held

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Delayed are the commands about messages that are not yet due.
type Delayed struct {
	List   DelayedList   `cmd:"" help:"Messages that are not due yet, the next first."`
	Show   DelayedShow   `cmd:"" help:"One message, with its payload."`
	Cancel DelayedCancel `cmd:"" help:"Take a message back."`
}

// DelayedList is delayed list.
type DelayedList struct {
	command.Paging

	Topic string `placeholder:"TOPIC" help:"This topic only." predictor:"topic"`
	Key   string `placeholder:"KEY" help:"This key only."`
}

// Run prints the list.
func (l *DelayedList) Run(d *command.Deps) error {
	store, err := d.Store("")
	scheduler, err := command.Capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	list := command.MessageList("No message is delayed.", command.TimeColumn("DUE", func(m command.MessageRow) time.Time { return m.NotBefore }))
	return command.Pages(d, l.Paging, list, func(after string, limit int) ([]command.MessageRow, string, error) {
		last, err := delayedCursor(after)
		if err != nil {
			return nil, "", err
		}
		found, err := scheduler.Delayed(d.Context, admin.DelayedQuery{Topic: l.Topic, Key: l.Key, After: last, Limit: limit})
		if err != nil {
			return nil, "", err
		}
		next := ""
		if len(found) == limit {
			end := found[limit-1]
			next = end.NotBefore.UTC().Format(time.RFC3339Nano) + "," + strconv.FormatInt(end.No, 10)
		}
		return command.RowsOf(found, func(m admin.DelayedMessage) command.MessageRow { return NewDelayedRow(m, false) }), next, nil
	})
}

// NewDelayedRow returns the row of a message that is not yet due.
func NewDelayedRow(m admin.DelayedMessage, whole bool) command.MessageRow {
	row := command.NewMessageRow(m.Message, whole)
	row.CreatedAt = command.UTC(m.CreatedAt)
	return row
}

// delayedCursor is the time and the number of the last message of a page.
func delayedCursor(after string) (*admin.DelayedMessage, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // the first page
	}
	at, number, _ := strings.Cut(after, ",")
	t, err := time.Parse(time.RFC3339Nano, at)
	no, numberErr := strconv.ParseInt(number, 10, 64)
	if err != nil || numberErr != nil {
		return nil, command.Usage("--after", after, "must be what a page before has named as next")
	}
	last := &admin.DelayedMessage{No: no}
	last.NotBefore = t
	return last, nil
}

// DelayedShow is delayed show.
type DelayedShow struct {
	ID string `arg:""`
}

// Run prints all messages with the id.
func (s *DelayedShow) Run(d *command.Deps) error {
	store, err := d.Store("")
	scheduler, err := command.Capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	found, err := scheduler.Delayed(d.Context, admin.DelayedQuery{ID: s.ID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%w: no message with id %q is delayed", command.ErrNothing, s.ID)
	}
	for _, m := range found {
		row := NewDelayedRow(m, true)
		if err := command.OpenContent(d, &row.ContentRow, m.Topic, outbox.ToWatermill(&outbox.Record{Message: m.Message}).Metadata, m.Payload); err != nil {
			return err
		}
		if err := d.Object(row, row.Facts(d)...); err != nil {
			return err
		}
	}
	return nil
}

// DelayedCancel is delayed cancel.
type DelayedCancel struct {
	command.Changing

	ID string `arg:"" help:"All messages with this id are taken back."`
}

// Run cancels the message.
func (c *DelayedCancel) Run(d *command.Deps) error {
	store, err := d.Store("")
	scheduler, err := command.Capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	by, err := d.By(c.Changing)
	if err != nil {
		return err
	}
	none := fmt.Errorf("%w: no message with id %q is delayed", command.ErrNothing, c.ID)
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "cancel_delayed"}, Thing: "message", Verb: "take back", Past: "Took back",
		Selection: "delayed, id " + show.Plain(c.ID), Question: ask.Question{}, Most: changes.MostSelected, Chunk: changes.MostSelected,
		Do: func(_ int, dryRun bool) (admin.Changed, error) {
			changed, err := scheduler.CancelDelayed(d.Context, admin.CancelRequest{By: by, ID: c.ID, DryRun: dryRun})
			if err == nil && changed.Count == 0 {
				err = none
			}
			return changed, err
		},
	}.Run(d, c.Changing)
}
