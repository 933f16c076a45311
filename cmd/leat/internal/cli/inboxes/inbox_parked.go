package inboxes

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox"
)

// InboxParked are the commands about parked messages of an inbox.
type InboxParked struct {
	List    InboxParkedList    `cmd:"" help:"Parked messages, and those that wait behind them."`
	Errors  InboxParkedErrors  `cmd:"" help:"Causes, the most frequent first."`
	Show    InboxParkedShow    `cmd:"" help:"One message, with payload and all errors."`
	Redrive InboxParkedRedrive `cmd:"" help:"Try messages again, in order and with the same ids."`
	Skip    InboxParkedSkip    `cmd:"" help:"Drop the first message of a key, and go on with the next."`
	Drop    InboxParkedDrop    `cmd:"" help:"Drop messages for good: their handler never runs."`
}

// parkedRow is the JSON of a parked message.
type parkedRow struct {
	No           int64     `json:"no"`
	Consumer     string    `json:"consumer"`
	State        string    `json:"state"`
	ID           string    `json:"id"`
	Topic        string    `json:"topic,omitempty"`
	Key          string    `json:"key,omitempty"`
	PayloadBytes int       `json:"payload_bytes"`
	Attempts     int       `json:"attempts"`
	Tries        int       `json:"tries"`
	Reason       string    `json:"reason,omitempty"`
	ParkedAt     time.Time `json:"parked_at"`

	command.ContentRow

	Errors []command.FailureRow `json:"errors,omitempty"`
}

func newParkedRow(m inboxadmin.ParkedMessage, whole bool) parkedRow {
	row := parkedRow{
		No: m.No, Consumer: m.Consumer, State: string(m.State), ID: m.ID, Topic: m.Topic, Key: m.Key, PayloadBytes: m.PayloadBytes,
		Attempts: m.History.Attempts, Tries: m.Tries, Reason: m.Reason, ParkedAt: command.UTC(m.ParkedAt),
	}
	if !whole {
		return row
	}
	if m.Message != nil {
		row.ContentRow = command.NewContent(m.Message.Metadata, m.Message.Payload)
	}
	for _, e := range m.History.Errors {
		row.Errors = append(row.Errors, command.FailureRow{At: command.UTC(e.At), Error: e.Error})
	}
	return row
}

// InboxParkedList is inbox parked list.
type InboxParkedList struct {
	command.Paging

	Consumer    string         `placeholder:"CONSUMER" help:"This consumer only." predictor:"consumer"`
	Topic       string         `placeholder:"TOPIC" help:"This topic only."`
	Key         string         `placeholder:"KEY" help:"This key only; needs --consumer."`
	State       string         `placeholder:"STATE" help:"parked, redrive or wait."`
	Fingerprint string         `placeholder:"TEXT" help:"Fingerprint, as the command errors shows it."`
	Before      command.Moment `placeholder:"TIME" help:"Set aside before this time or age, such as 1h."`
}

// Run prints the list.
func (l *InboxParkedList) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	query := inboxadmin.ParkedQuery{
		Consumer: l.Consumer, Topic: l.Topic, Key: l.Key, State: inboxadmin.ParkedState(l.State),
		Fingerprint: l.Fingerprint, Before: l.Before.Time, OmitPayload: true,
	}
	if err := inboxadmin.Complete(&query); err != nil {
		return fmt.Errorf("--consumer %q, --topic %q, --key %q, --state %q: %w", l.Consumer, l.Topic, l.Key, l.State, err)
	}
	id, reason := command.Identified("ID", func(m parkedRow) string { return m.ID }, "REASON", func(m parkedRow) string { return m.Reason })
	list := show.List[parkedRow]{Name: "messages", Empty: "No message is parked.", Columns: []show.Column[parkedRow]{
		command.IDColumn("NO", func(m parkedRow) int64 { return m.No }),
		command.TextColumn("CONSUMER", func(m parkedRow) string { return m.Consumer }),
		id,
		command.TextColumn("TOPIC", func(m parkedRow) string { return m.Topic }),
		command.TextColumn("KEY", func(m parkedRow) string { return m.Key }),
		command.TextColumn("STATE", func(m parkedRow) string { return m.State }),
		command.CountColumn("ATTEMPTS", func(m parkedRow) int64 { return int64(m.Attempts) }),
		command.TimeColumn("PARKED", func(m parkedRow) time.Time { return m.ParkedAt }),
		reason,
	}}
	return command.Pages(d, l.Paging, list, command.Numbered(func(after int64, limit int) ([]inboxadmin.ParkedMessage, error) {
		query.After, query.Limit = after, limit
		return in.Parked(d.Context, query)
	}, func(m inboxadmin.ParkedMessage) int64 { return m.No }, func(m inboxadmin.ParkedMessage) parkedRow { return newParkedRow(m, false) }))
}

// mostOfInbox is the most messages that one request to an inbox lists or changes.
const mostOfInbox = 10_000

// InboxParkedErrors is inbox parked errors.
type InboxParkedErrors struct {
	Consumer string `placeholder:"CONSUMER" help:"This consumer only." predictor:"consumer"`
	Topic    string `placeholder:"TOPIC" help:"This topic only."`
	Limit    int    `default:"100" placeholder:"N" help:"Rows, 1 to 10000."`
}

// inboxErrorsRow is the JSON of the messages that failed for the same reason.
type inboxErrorsRow struct {
	Consumer    string    `json:"consumer"`
	Topic       string    `json:"topic,omitempty"`
	Messages    int64     `json:"messages"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Fingerprint string    `json:"fingerprint"`
	Example     string    `json:"example"`
}

// Run prints the list.
func (e *InboxParkedErrors) Run(d *command.Deps) error {
	if e.Limit < 1 || e.Limit > mostOfInbox {
		return command.Usage("--limit", strconv.Itoa(e.Limit), "must be 1 to 10000")
	}
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	failures, err := in.Failures(d.Context, inboxadmin.FailuresQuery{Consumer: e.Consumer, Topic: e.Topic, Limit: e.Limit})
	if err != nil {
		return err
	}
	list := show.List[inboxErrorsRow]{Name: "errors", Empty: "No message is parked.", Columns: []show.Column[inboxErrorsRow]{
		command.CountColumn("MESSAGES", func(e inboxErrorsRow) int64 { return e.Messages }),
		command.TextColumn("CONSUMER", func(e inboxErrorsRow) string { return e.Consumer }),
		command.TextColumn("TOPIC", func(e inboxErrorsRow) string { return e.Topic }),
		command.TimeColumn("FIRST", func(e inboxErrorsRow) time.Time { return e.First }),
		command.TimeColumn("LAST", func(e inboxErrorsRow) time.Time { return e.Last }),
		command.WholeColumn("FINGERPRINT", func(e inboxErrorsRow) string { return e.Fingerprint }),
	}}
	return list.Print(d.Printer, command.RowsOf(failures, func(f inboxadmin.FailureGroup) inboxErrorsRow {
		return inboxErrorsRow{f.Consumer, f.Topic, f.Count, command.UTC(f.First), command.UTC(f.Last), f.Fingerprint, f.Example}
	}), "")
}

// InboxParkedShow is inbox parked show.
type InboxParkedShow struct {
	ID       string `arg:""`
	Consumer string `placeholder:"CONSUMER" help:"This consumer only." predictor:"consumer"`
}

// Run prints all parked messages with the id.
func (s *InboxParkedShow) Run(d *command.Deps) error {
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	found, err := in.Parked(d.Context, inboxadmin.ParkedQuery{Consumer: s.Consumer, ID: s.ID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%w: no message with id %q is parked", command.ErrNothing, s.ID)
	}
	for _, m := range found {
		row := newParkedRow(m, true)
		if err := openParked(d, &row, m); err != nil {
			return err
		}
		if err := d.Object(row, row.facts(d)...); err != nil {
			return err
		}
	}
	return nil
}

// openParked decodes the payload as the message's handler would.
func openParked(d *command.Deps, p *parkedRow, m inboxadmin.ParkedMessage) error {
	if m.Message == nil {
		return nil
	}
	headers := map[string]string{}
	maps.Copy(headers, m.Message.Metadata)
	headers[outbox.HeaderEventID] = m.Message.UUID
	return command.OpenContent(d, &p.ContentRow, m.Topic, headers, m.Message.Payload)
}

func (p parkedRow) facts(d *command.Deps) []show.Fact {
	facts := []show.Fact{
		{Name: "no", Value: show.Count(p.No)},
		{Name: "consumer", Value: show.Plain(p.Consumer)},
		{Name: "state", Value: p.State},
		{Name: "id", Value: show.Plain(p.ID)},
		{Name: "topic", Value: show.Plain(p.Topic)},
		{Name: "key", Value: show.Plain(p.Key)},
		{Name: "parked", Value: d.Time(p.ParkedAt)},
		{Name: "attempts", Value: show.Count(int64(p.Attempts))},
		{Name: "reason", Value: show.Plain(p.Reason)},
	}
	facts = append(facts, p.Facts()...)
	for _, e := range p.Errors {
		facts = append(facts, e.Fact(d))
	}
	return facts
}

// InboxSelecting are the flags that select parked messages of a consumer.
type InboxSelecting struct {
	command.Changing

	Consumer    string         `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
	ID          string         `placeholder:"ID" help:"The record or message with this id."`
	Key         string         `placeholder:"KEY" help:"This key only, with one --topic."`
	Topic       string         `placeholder:"TOPIC" help:"This topic only."`
	Fingerprint string         `placeholder:"TEXT" help:"Fingerprint, as the command errors shows it."`
	Before      command.Moment `placeholder:"TIME" help:"Set aside before this time or age, such as 1h."`
	All         bool           `help:"All of the consumer."`
	Chunk       int            `default:"1000" placeholder:"N" help:"Messages a call, 1 to 10000."`
}

func (s *InboxSelecting) selection(now time.Time) (inboxadmin.Selection, error) {
	selection := inboxadmin.Selection{ID: s.ID, Fingerprint: s.Fingerprint, Before: s.Before.Time}
	if s.Chunk < 1 || s.Chunk > mostOfInbox {
		return selection, command.Usage("--chunk", strconv.Itoa(s.Chunk), "must be 1 to 10000")
	}
	filters := s.Fingerprint != "" || !s.Before.IsZero()
	if s.Key != "" {
		selection.Topic, selection.Key = s.Topic, s.Key
	} else {
		selection.OfTopic, filters = s.Topic, filters || s.Topic != ""
	}
	ways := 0
	for _, way := range []bool{s.ID != "", s.Key != "", filters, s.All} {
		if way {
			ways++
		}
	}
	switch {
	case ways == 0:
		return selection, command.UsageError{Err: errors.New("nothing is selected: give --id, --key with --topic, a filter, or --all")}
	case ways > 1:
		return selection, command.UsageError{Err: errors.New("--id, --key, the filters --topic, --fingerprint, --before, and --all exclude each other")}
	case s.All:
		// A day ahead, since the clock of the store decides.
		selection.Before = now.Add(24 * time.Hour)
	}
	return selection, nil
}

func (s *InboxSelecting) words() string {
	words := []string{"parked for consumer " + show.Plain(s.Consumer)}
	for _, part := range []struct{ name, value string }{
		{"id", s.ID}, {"topic", s.Topic}, {"key", s.Key}, {"fingerprint", s.Fingerprint},
	} {
		if part.value != "" {
			words = append(words, part.name+" "+show.Plain(part.value))
		}
	}
	if !s.Before.IsZero() {
		words = append(words, "parked before "+s.Before.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return strings.Join(words, ", ")
}

// begin prepares everything for the change except the change itself.
func (s *InboxSelecting) begin(d *command.Deps) (inboxadmin.Inbox, inboxadmin.ChangeRequest, changes.RecordChange, error) {
	request := inboxadmin.ChangeRequest{Consumer: s.Consumer}
	change := changes.RecordChange{Thing: "message", Selection: s.words(), Most: mostOfInbox, Chunk: s.Chunk}
	var err error
	if request.Selection, err = s.selection(d.Now()); err != nil {
		return nil, request, change, err
	}
	if request.By, err = d.By(s.Changing); err != nil {
		return nil, request, change, err
	}
	in, err := OpenInbox(d)
	if selected := request.Selection; err == nil && selected.ID == "" && selected.Key == "" {
		err = changes.Pin(d, &request.Before)
	}
	return in, request, change, err
}

// InboxParkedRedrive is inbox parked redrive.
type InboxParkedRedrive InboxSelecting

// Run redrives.
func (r *InboxParkedRedrive) Run(d *command.Deps) error {
	in, request, change, err := (*InboxSelecting)(r).begin(d)
	if err != nil {
		return err
	}
	if err := noteSilence(d, in, r.Consumer); err != nil {
		return err
	}
	change.Row, change.Verb, change.Past = changes.ChangedRow{Action: "redrive", Consumer: r.Consumer}, "redrive", "Redrove"
	change.Do = func(limit int, dryRun bool) (inboxadmin.Changed, error) {
		request.Limit, request.DryRun = limit, dryRun
		return in.Redrive(d.Context, request)
	}
	return change.Run(d, r.Changing)
}

// silentFrom is the inactivity of a consumer from which a redrive prints a note. It can be short: parking
// counts as activity, so a handler that was renamed afterwards has been inactive since.
const silentFrom = 5 * time.Minute

// noteSilence prints a note if the consumer has been inactive for some time. Redriven messages run under
// the consumer's name only, so those of a renamed handler would wait for ever.
func noteSilence(d *command.Deps, in inboxadmin.Inbox, name string) error {
	for q := (inboxadmin.ConsumersQuery{}); ; {
		page, err := in.Consumers(d.Context, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			q.After = c.Name
			if idle := d.Now().Sub(c.LastActivity); c.Name == name && !c.LastActivity.IsZero() && idle >= silentFrom {
				d.Note("Consumer %s has done nothing for %s: what is redriven waits until a service runs it again.", show.Plain(name), show.Duration(idle))
				return nil
			}
		}
	}
}

// InboxParkedDrop is inbox parked drop.
type InboxParkedDrop InboxSelecting

// Run drops.
func (r *InboxParkedDrop) Run(d *command.Deps) error {
	in, request, change, err := (*InboxSelecting)(r).begin(d)
	if err != nil {
		return err
	}
	change.Row, change.Verb, change.Past = changes.ChangedRow{Action: "drop", Consumer: r.Consumer}, "drop", "Dropped"
	change.Question = ask.Question{Name: r.Key + r.ID, TypeCount: true}
	change.Do = func(limit int, dryRun bool) (inboxadmin.Changed, error) {
		request.Limit, request.DryRun = limit, dryRun
		return in.Drop(d.Context, request)
	}
	return change.Run(d, r.Changing)
}

// InboxParkedSkip is inbox parked skip.
type InboxParkedSkip struct {
	command.Changing

	Consumer string `required:"" placeholder:"CONSUMER" help:"The consumer." predictor:"consumer"`
	Topic    string `placeholder:"TOPIC" help:"Topic of the key; leave it out for messages that came without a router."`
	Key      string `required:"" placeholder:"KEY" help:"The parked key."`
}

// Run skips the key's first message.
func (s *InboxParkedSkip) Run(d *command.Deps) error {
	by, err := d.By(s.Changing)
	if err != nil {
		return err
	}
	in, err := OpenInbox(d)
	if err != nil {
		return err
	}
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "skip_head", Consumer: s.Consumer}, Thing: "message", Verb: "drop", Past: "Dropped",
		Selection: fmt.Sprintf("the first of key %s of topic %s for consumer %s", show.Plain(s.Key), show.Plain(s.Topic), show.Plain(s.Consumer)),
		Question:  ask.Question{Name: s.Key}, Most: 2, Chunk: 1,
	}.Skip(d, s.Changing, func(_ string, dryRun bool) (inboxadmin.Changed, error) {
		return in.SkipHead(d.Context, inboxadmin.SkipHeadRequest{By: by, Consumer: s.Consumer, Topic: s.Topic, Key: s.Key, DryRun: dryRun})
	}, func(id string) (string, int64, error) {
		parked, err := in.Parked(d.Context, inboxadmin.ParkedQuery{
			Consumer: s.Consumer, Topic: s.Topic, Key: s.Key, ID: id, State: inboxadmin.StateParked, OmitPayload: true, Limit: 1,
		})
		if err != nil || len(parked) == 0 {
			return "no", 0, err
		}
		return "no", parked[0].No, nil
	})
}
