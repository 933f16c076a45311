package messages

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/cli/inboxes"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Erase is the command erase.
type Erase struct {
	command.Changing

	Key    string   `placeholder:"KEY" help:"Messages with this key."`
	Topic  string   `placeholder:"PATTERN" help:"With --key: topics; * matches any characters. Defaults to all." predictor:"topic"`
	ID     []string `name:"id" placeholder:"ID" sep:"none" help:"The message with this id; repeat it."`
	IDs    string   `name:"ids" placeholder:"FILE" help:"Messages with the ids in this file, one a line." predictor:"file"`
	Header string   `placeholder:"NAME=VALUE" help:"Messages with this header; reads the whole log."`
	All    bool     `help:"All outboxes of the file."`
}

// erasedRow is the JSON of what was erased.
type erasedRow struct {
	Action string         `json:"action"`
	DryRun bool           `json:"dry_run"`
	Outbox map[string]int `json:"outbox"`
	Inbox  map[string]int `json:"inbox"`
	Topics map[string]int `json:"topics"`
	IDs    []string       `json:"ids"`
	// Elsewhere lists the other places that may have copies.
	Elsewhere []string `json:"elsewhere"`
}

// request returns the selection of the flags.
func (e *Erase) request() (r driver.EraseRequest, err error) {
	r = erase.With(driver.EraseRequest{Key: e.Key, Topic: e.Topic}, e.ID)
	if e.Topic != "" && e.Key == "" {
		return r, command.Usage("--topic", e.Topic, "needs --key: a topic is nobody's")
	}
	if e.Header != "" {
		var ok bool
		if r.Header, r.Value, ok = strings.Cut(e.Header, "="); !ok || r.Header == "" || r.Value == "" {
			return r, command.Usage("--header", e.Header, "must be NAME=VALUE")
		}
	}
	if e.IDs != "" {
		content, err := os.ReadFile(e.IDs)
		if err != nil {
			return r, command.Usage("--ids", e.IDs, err.Error())
		}
		r = erase.With(r, strings.Fields(string(content)))
	}
	if r.Key == "" && len(r.IDs) == 0 && r.Header == "" {
		return r, command.UsageError{Err: errors.New("nothing is selected: give --key, --id, --ids or --header")}
	}
	// The audit would keep what is erased.
	for _, text := range []string{r.Key, r.Value} {
		if text != "" && strings.Contains(strings.ToLower(e.Reason), strings.ToLower(text)) {
			return r, command.Usage("--reason", e.Reason, "must not name who is erased: it stays in the audit")
		}
	}
	return r, nil
}

// Run erases.
func (e *Erase) Run(d *command.Deps) error {
	request, err := e.request()
	if err != nil {
		return err
	}
	by, err := d.By(e.Changing)
	if err != nil {
		return err
	}
	request.Actor, request.Reason = by.Actor, by.Reason
	places, err := e.places(d)
	if err != nil {
		return err
	}
	request.DryRun = true
	planned, ids, err := places.run(d, request)
	if err != nil {
		return err
	}
	total := sum(planned.Outbox) + sum(planned.Inbox)
	if e.DryRun || total == 0 {
		return planned.print(d, "Would erase", e.DryRun)
	}
	question := ask.Question{Text: planned.sentence("Would erase") + " What is not sent yet never is. It cannot be undone.", Count: total, TypeCount: true}
	if request.Header == "" && len(request.IDs) == 0 {
		question.Name = request.Key
	}
	if err := d.Confirm(e.Changing, question); err != nil {
		return err
	}
	request.DryRun = false
	done, _, err := places.run(d, erase.With(request, ids))
	if err != nil {
		return fmt.Errorf("%w (some of it may be erased: the same command goes on)", err)
	}
	return done.print(d, "Erased", false)
}

// erasePlaces are the stores to erase from.
type erasePlaces struct {
	outboxes []driver.Eraser
	inbox    driver.Eraser
}

func (e *Erase) places(d *command.Deps) (p erasePlaces, err error) {
	stores := map[string]admin.Outbox{}
	if e.All {
		if stores, err = d.OutboxesOfFile(); err == nil && len(stores) == 0 {
			err = command.ErrNoOutboxes
		}
	} else {
		stores[""], err = d.Store("")
	}
	if err != nil {
		return p, err
	}
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		db, err := d.Open() // an error names its product
		if err != nil {
			return p, err
		}
		eraser, ok := stores[name].(driver.Eraser)
		if !ok {
			return p, command.UsageError{Err: fmt.Errorf("leat erase does not work on this outbox in %s: stop its relays, and delete the rows", db.Product())}
		}
		p.outboxes = append(p.outboxes, eraser)
	}
	in, err := inboxes.OpenInbox(d)
	if err != nil {
		return p, err
	}
	p.inbox, _ = in.(driver.Eraser)
	return p, nil
}

// run erases from each store, or only counts in a dry run, and returns the counts and the ids.
func (p erasePlaces) run(d *command.Deps, r driver.EraseRequest) (row erasedRow, ids []string, err error) {
	bar := d.Bar("look through the log", "numbers", 0)
	r.Progress = func(done, total int64) {
		bar.Total = total
		bar.Set(done)
	}
	defer bar.End()
	var out, in driver.Erased
	known := 0
	for _, store := range p.outboxes {
		found, err := store.Erase(d.Context, r)
		if errors.Is(err, outbox.ErrNotMigrated) {
			continue
		}
		if err != nil {
			return row, nil, err
		}
		known++
		erase.Merge(&out, found)
	}
	if p.inbox != nil {
		in, err = p.inbox.Erase(d.Context, erase.With(r, out.IDs))
		if err == nil {
			known++
		} else if !errors.Is(err, outbox.ErrNotMigrated) {
			return row, nil, err
		}
	}
	if known == 0 {
		return row, nil, fmt.Errorf("neither outbox nor inbox is there: %w", outbox.ErrNotMigrated)
	}
	row = erasedRow{Action: "erase", DryRun: r.DryRun, Outbox: orEmptyMap(out.Rows), Inbox: orEmptyMap(in.Rows)}
	ids = erase.With(driver.EraseRequest{IDs: out.IDs}, in.IDs).IDs
	row.Topics, row.IDs, row.Elsewhere = orEmptyMap(out.Topics), append([]string{}, ids...), elsewhere(command.SortedKeys(out.Topics))
	return row, ids, nil
}

func orEmptyMap(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// elsewhere lists places that leat does not reach and that may have copies.
func elsewhere(topics []string) []string {
	broker := "the broker, until its retention or a tombstone of the key"
	if len(topics) > 0 {
		broker += ": " + strings.Join(topics, ", ")
	}
	return []string{
		broker,
		"archives of what retention has dropped, exports and replays",
		"inboxes and tables of consumers in other databases: give them the ids (-o json, --ids)",
		"backups, replicas and write-ahead logs of this database",
	}
}

// sentence describes what was found.
func (r erasedRow) sentence(verb string) string {
	var parts []string
	for _, store := range []struct {
		name string
		rows map[string]int
	}{{"outbox", r.Outbox}, {"inbox", r.Inbox}} {
		for _, place := range command.SortedKeys(store.rows) {
			parts = append(parts, fmt.Sprintf("%s %s %s", show.Count(int64(store.rows[place])), store.name, place))
		}
	}
	var topics []string
	for _, topic := range command.SortedKeys(r.Topics) {
		topics = append(topics, fmt.Sprintf("%s (%s)", show.Cell(topic), show.Count(int64(r.Topics[topic]))))
	}
	text := fmt.Sprintf("%s %s: %s", verb, show.Things(int64(len(r.IDs)), "message"), strings.Join(parts, ", "))
	if len(topics) > 0 {
		text += "; topics " + strings.Join(topics, ", ")
	}
	return text + "."
}

func (r erasedRow) print(d *command.Deps, verb string, dryRun bool) error {
	r.DryRun = dryRun
	if d.Format != show.Table {
		return d.Document(r)
	}
	if sum(r.Outbox)+sum(r.Inbox) == 0 {
		if err := d.Line("Nothing is stored of it."); err != nil {
			return err
		}
	} else if err := d.Paragraph("%s", r.sentence(verb)); err != nil {
		return err
	}
	d.Note("Not reached, and to be seen to:")
	for _, place := range r.Elsewhere {
		d.Note("- %s", place)
	}
	if verb == "Erased" {
		d.Note("Run it again in a minute: a relay that had a message under way may have set it aside meanwhile.")
	}
	return nil
}
