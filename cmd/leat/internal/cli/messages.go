package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Messages are the commands about messages of the log.
type Messages struct {
	Search MessagesSearch `cmd:"" help:"Messages that the log retains, by topic, key, type and time."`
	Show   MessagesShow   `cmd:"" help:"One message, with its payload."`
	Export MessagesExport `cmd:"" help:"All messages that match, with payloads, as jsonl."`
}

// MessageFilter are the flags that select messages of the log.
type MessageFilter struct {
	Topic string `placeholder:"PATTERN" help:"Topics, * stands for any characters." predictor:"topic"`
	Key   string `placeholder:"KEY" help:"This key only."`
	Type  string `placeholder:"PATTERN" help:"Types, * stands for any characters."`
	From  Moment `placeholder:"TIME" help:"Enqueued at this time or later, or since so long ago, such as 2h."`
	To    Moment `placeholder:"TIME" help:"Enqueued before this time."`
}

func (f MessageFilter) query() (admin.MessageQuery, error) {
	if !f.To.IsZero() && !f.From.Before(f.To.Time) {
		return admin.MessageQuery{}, usage("--to", f.To.UTC().Format(time.RFC3339), "must be after --from "+f.From.UTC().Format(time.RFC3339))
	}
	return admin.MessageQuery{Topic: f.Topic, Key: f.Key, Type: f.Type, From: f.From.Time, To: f.To.Time}, nil
}

// MessagesSearch is messages search.
type MessagesSearch struct {
	MessageFilter
	Paging

	Newest bool `help:"The newest first."`
	Scan   int  `default:"100000" placeholder:"N" help:"Messages that are looked at for a page, 1 to 10000000. A page may be empty and not the last."`
}

// Run lists.
func (m *MessagesSearch) Run(d *Deps) error {
	store, err := d.Store("")
	searcher, err := capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	query, err := m.query()
	if err != nil {
		return err
	}
	if m.Scan < 1 || m.Scan > 10_000_000 {
		return usage("--scan", strconv.Itoa(m.Scan), "must be 1 to 10000000")
	}
	query.Newest, query.Scan, query.OmitPayload = m.Newest, m.Scan, true
	return pages(d, m.Paging, messageList(), searchPage(d, searcher, query))
}

func messageList() show.List[messageRow] {
	return show.List[messageRow]{Name: "messages", Empty: "No message matches.", Columns: []show.Column[messageRow]{
		idColumn("SEQ", func(m messageRow) int64 { return m.Seq }),
		textColumn("ID", func(m messageRow) string { return m.ID }),
		textColumn("TOPIC", func(m messageRow) string { return m.Topic }),
		textColumn("KEY", func(m messageRow) string { return m.Key }),
		textColumn("TYPE", func(m messageRow) string { return m.Type }),
		timeColumn("ENQUEUED", func(m messageRow) time.Time { return m.CreatedAt }),
	}}
}

func searchPage(d *Deps, searcher admin.Manager, query admin.MessageQuery) page[messageRow] {
	return func(after string, limit int) ([]messageRow, string, error) {
		start, err := cursor(after)
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
		return rowsOf(found.Records, func(r outbox.Record) messageRow { return newRecordRow(r, !query.OmitPayload) }), next, nil
	}
}

// MessagesShow is messages show.
type MessagesShow struct {
	ID    string `arg:"" help:"Id of the message."`
	Since Moment `placeholder:"TIME" help:"Earliest time at which it was enqueued, or so long ago. Ids of version 7 tell it."`
	Raw   bool   `help:"The payload alone, byte for byte."`
}

// Run prints all messages with the id.
func (m *MessagesShow) Run(d *Deps) error {
	store, err := d.Store("")
	searcher, err := capable[admin.Manager](d, store, err, "search its log")
	if err != nil {
		return err
	}
	traced, err := searcher.Trace(d.Context, admin.TraceQuery{ID: m.ID, Since: m.Since.Time})
	if err != nil {
		return sinceHint(err, m.ID, m.Since)
	}
	if len(traced.Messages) == 0 {
		return fmt.Errorf("%w: the log retains no message with id %q", errNothing, m.ID)
	}
	for _, found := range traced.Messages {
		row := newRecordRow(found.Record, true)
		if m.Raw {
			_, err = d.Out.Write(found.Payload)
		} else {
			err = d.Object(row, row.facts(d)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sinceHint names the flag of what a trace needs, if that is what err is about.
func sinceHint(err error, id string, since Moment) error {
	if !errors.Is(err, admin.ErrInvalidRequest) || id == "" || !since.IsZero() {
		return err
	}
	return fmt.Errorf("%w (--since, such as --since 24h)", err)
}

// MessagesExport is messages export.
type MessagesExport struct {
	MessageFilter

	File string `placeholder:"FILE" help:"Write here, a new file. Defaults to standard output." predictor:"file"`
}

// Run writes all that matches, whatever the form of other results is.
func (m *MessagesExport) Run(d *Deps) (err error) {
	if dir, err := os.Stat(filepath.Dir(m.File)); m.File != "" && (err != nil || !dir.IsDir()) {
		return usage("--file", m.File, "must be in a directory that there is")
	}
	store, err := d.Store("")
	searcher, err := capable[admin.Manager](d, store, err, "search its log")
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
			return usage("--file", m.File, err.Error())
		}
		defer func() {
			if closed := file.Close(); err == nil {
				err = closed
			}
		}()
		d.Out = file
	}
	walk, err := newScan(d, searcher, "exporting")
	if err != nil {
		return err
	}
	defer walk.end()
	return m.write(d, walk, searchPage(d, searcher, query))
}

func (m *MessagesExport) write(d *Deps, walk *scan, fetch page[messageRow]) error {
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
			walk.end()
			if m.File != "" {
				d.Note("Wrote %s to %s.", show.Things(total, "message"), m.File)
			}
			return nil
		}
		if at, err := cursor(next); err == nil {
			walk.at(at)
		}
		after = next
	}
}
