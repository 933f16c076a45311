package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Delayed are the commands about messages that are not due.
type Delayed struct {
	List   DelayedList   `cmd:"" help:"Messages that are not due yet, the next one first."`
	Show   DelayedShow   `cmd:"" help:"One message, with its payload."`
	Cancel DelayedCancel `cmd:"" help:"Take a message back."`
}

// DelayedList is delayed list.
type DelayedList struct {
	Paging

	Topic string `placeholder:"TOPIC" help:"This topic only." predictor:"topic"`
	Key   string `placeholder:"KEY" help:"This key only."`
}

// Run lists.
func (l *DelayedList) Run(d *Deps) error {
	store, err := d.Store("")
	scheduler, err := capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	list := show.List[messageRow]{Name: "messages", Empty: "No message is delayed.", Columns: []show.Column[messageRow]{
		timeColumn("DUE", func(m messageRow) time.Time { return m.NotBefore }),
		textColumn("ID", func(m messageRow) string { return m.ID }),
		textColumn("TOPIC", func(m messageRow) string { return m.Topic }),
		textColumn("KEY", func(m messageRow) string { return m.Key }),
		textColumn("TYPE", func(m messageRow) string { return m.Type }),
		timeColumn("ENQUEUED", func(m messageRow) time.Time { return m.CreatedAt }),
	}}
	return pages(d, l.Paging, list, func(after string, limit int) ([]messageRow, string, error) {
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
		return rowsOf(found, func(m admin.DelayedMessage) messageRow { return newDelayedRow(m, false) }), next, nil
	})
}

func newDelayedRow(m admin.DelayedMessage, whole bool) messageRow {
	row := newMessageRow(m.Message, whole)
	row.CreatedAt = utc(m.CreatedAt)
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
		return nil, usage("--after", after, "must be what a page before has named as next")
	}
	last := &admin.DelayedMessage{No: no}
	last.NotBefore = t
	return last, nil
}

// DelayedShow is delayed show.
type DelayedShow struct {
	ID string `arg:"" help:"Id of the message."`
}

// Run prints all messages with the id.
func (s *DelayedShow) Run(d *Deps) error {
	store, err := d.Store("")
	scheduler, err := capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	found, err := scheduler.Delayed(d.Context, admin.DelayedQuery{ID: s.ID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%w: no message with id %q is delayed", errNothing, s.ID)
	}
	for _, m := range found {
		row := newDelayedRow(m, true)
		if err := d.Object(row, row.facts(d)...); err != nil {
			return err
		}
	}
	return nil
}

// DelayedCancel is delayed cancel.
type DelayedCancel struct {
	Changing

	ID string `arg:"" help:"Id of the message. All that were enqueued by it are taken back."`
}

// Run takes the message back.
func (c *DelayedCancel) Run(d *Deps) error {
	store, err := d.Store("")
	scheduler, err := capable[admin.Manager](d, store, err, "delay messages")
	if err != nil {
		return err
	}
	by, err := d.by(c.Changing)
	if err != nil {
		return err
	}
	none := fmt.Errorf("%w: no message with id %q is delayed", errNothing, c.ID)
	return recordChange{
		row: changedRow{Action: "cancel_delayed"}, thing: "message", verb: "take back", past: "Took back",
		selection: "delayed, id " + show.Plain(c.ID), question: ask.Question{}, most: mostSelected, chunk: mostSelected,
		do: func(_ int, dryRun bool) (admin.Changed, error) {
			changed, err := scheduler.CancelDelayed(d.Context, admin.CancelRequest{By: by, ID: c.ID, DryRun: dryRun})
			if err == nil && changed.Count == 0 {
				err = none
			}
			return changed, err
		},
	}.run(d, c.Changing)
}
