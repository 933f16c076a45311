// Package messages has the commands about single messages: messages, trace and erase.
package messages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Messages are the commands about messages of the log.
type Messages struct {
	Search MessagesSearch `cmd:"" help:"Find retained messages by topic, key, type and time."`
	Show   MessagesShow   `cmd:"" help:"One message, with its payload."`
	Export MessagesExport `cmd:"" help:"Write matching messages with payloads, as jsonl."`
}

// MessageFilter are the flags that select messages of the log.
type MessageFilter struct {
	Topic string         `placeholder:"PATTERN" help:"Topics; * matches any characters." predictor:"topic"`
	Key   string         `placeholder:"KEY" help:"This key only."`
	Type  string         `placeholder:"PATTERN" help:"Types; * matches any characters."`
	From  command.Moment `placeholder:"TIME" help:"Enqueued since this time or age, such as 2h."`
	To    command.Moment `placeholder:"TIME" help:"Enqueued before this time."`
}

func (f MessageFilter) query() (admin.MessageQuery, error) {
	if !f.To.IsZero() && !f.From.Before(f.To.Time) {
		return admin.MessageQuery{}, command.Usage("--to", f.To.UTC().Format(time.RFC3339), "must be after --from "+f.From.UTC().Format(time.RFC3339))
	}
	return admin.MessageQuery{Topic: f.Topic, Key: f.Key, Type: f.Type, From: f.From.Time, To: f.To.Time}, nil
}

// MessagesSearch is messages search.
type MessagesSearch struct {
	MessageFilter
	command.Paging

	Newest bool `help:"The newest first."`
	Scan   int  `default:"100000" placeholder:"N" help:"Messages to examine for a page, 1 to 10000000. A page before the last may be empty."`
}

// Run prints the list.
func (m *MessagesSearch) Run(d *command.Deps) error {
	store, err := d.Store("")
	searcher, err := command.Capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	query, err := m.query()
	if err != nil {
		return err
	}
	if m.Scan < 1 || m.Scan > 10_000_000 {
		return command.Usage("--scan", strconv.Itoa(m.Scan), "must be 1 to 10000000")
	}
	query.Newest, query.Scan, query.OmitPayload = m.Newest, m.Scan, true
	return command.Pages(d, m.Paging, messageList(), searchPage(d, searcher, query))
}

func messageList() show.List[command.MessageRow] {
	return command.MessageList("No message matches.", command.IDColumn("SEQ", func(m command.MessageRow) int64 { return m.Seq }))
}

func searchPage(d *command.Deps, searcher admin.Manager, query admin.MessageQuery) command.Page[command.MessageRow] {
	return func(after string, limit int) ([]command.MessageRow, string, error) {
		start, err := command.Cursor(after)
		if err != nil {
			return nil, "", err
		}
		query.After, query.Limit = start, limit
		found, err := searcher.Search(d.Context, query)
		if err != nil {
			return nil, "", err
		}
		next := ""
		if found.Next != 0 {
			next = strconv.FormatInt(found.Next, 10)
		}
		return command.RowsOf(found.Records, func(r outbox.Record) command.MessageRow { return command.NewRecordRow(r, !query.OmitPayload) }), next, nil
	}
}

// MessagesShow is messages show.
type MessagesShow struct {
	ID    string         `arg:""`
	Since command.Moment `placeholder:"TIME" help:"Enqueued since this time or age, such as 24h; ids of version 7 contain it."`
	Raw   bool           `help:"The payload alone, as it is stored."`
}

// Run prints all messages with the id.
func (m *MessagesShow) Run(d *command.Deps) error {
	store, err := d.Store("")
	searcher, err := command.Capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	traced, err := searcher.Trace(d.Context, admin.TraceQuery{ID: m.ID, Since: m.Since.Time})
	if err != nil {
		return sinceHint(err, m.ID, m.Since)
	}
	if len(traced.Messages) == 0 {
		return fmt.Errorf("%w: the log retains no message with id %q", command.ErrNothing, m.ID)
	}
	for _, found := range traced.Messages {
		if m.Raw {
			_, err = d.Out.Write(found.Payload)
		} else {
			err = showMessage(d, found.Record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func showMessage(d *command.Deps, r outbox.Record) error {
	row, err := command.WholeRecord(d, r)
	if err != nil {
		return err
	}
	return d.Object(row, row.Facts(d)...)
}

// sinceHint adds the flag --since to an error of a trace that needs a time.
func sinceHint(err error, id string, since command.Moment) error {
	if !errors.Is(err, admin.ErrInvalidRequest) || id == "" || !since.IsZero() {
		return err
	}
	return fmt.Errorf("%w (--since, such as --since 24h)", err)
}

// MessagesExport is messages export.
type MessagesExport struct {
	MessageFilter

	File string `placeholder:"FILE" help:"New file to write. Defaults to standard output." predictor:"file"`
}

// Run writes all matching messages. The form of other results does not apply to it.
func (m *MessagesExport) Run(d *command.Deps) (err error) {
	if dir, err := os.Stat(filepath.Dir(m.File)); m.File != "" && (err != nil || !dir.IsDir()) {
		return command.Usage("--file", m.File, "must be in a directory that there is")
	}
	store, err := d.Store("")
	searcher, err := command.Capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	query, err := m.query()
	if err != nil {
		return err
	}
	if m.File != "" {
		file, err := os.OpenFile(m.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return command.Usage("--file", m.File, err.Error())
		}
		defer func() {
			if closed := file.Close(); err == nil {
				err = closed
			}
		}()
		d.Out = file
	}
	walk, err := command.NewScan(d, searcher, "exporting")
	if err != nil {
		return err
	}
	defer walk.End()
	return m.write(d, walk, searchPage(d, searcher, query))
}

func (m *MessagesExport) write(d *command.Deps, walk *command.Scan, fetch command.Page[command.MessageRow]) error {
	const chunk = 500
	total := int64(0)
	for after := ""; ; {
		rows, next, err := fetch(after, chunk)
		if err != nil {
			return err
		}
		if err := messageList().Stream(d.Printer, rows); err != nil {
			return err
		}
		total += int64(len(rows))
		if next == "" {
			walk.End()
			if m.File != "" {
				d.Note("Wrote %s to %s.", show.Things(total, "message"), m.File)
			}
			return nil
		}
		if at, err := command.Cursor(next); err == nil {
			walk.At(at)
		}
		after = next
	}
}
