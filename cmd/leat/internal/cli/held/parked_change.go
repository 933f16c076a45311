package held

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Selecting are the flags that select records that were set aside.
type Selecting struct {
	command.Changing

	Group       string         `default:"default" placeholder:"GROUP" help:"Relay group." predictor:"group"`
	ID          string         `placeholder:"ID" help:"The record or message with this id." xor:"way"`
	Key         string         `placeholder:"KEY" help:"This key only, with one --topic."`
	Topic       string         `placeholder:"PATTERN" help:"Topics; * matches any characters." predictor:"topic"`
	Kind        string         `placeholder:"KIND" help:"Kind of the last error: unknown, outage or permanent."`
	Fingerprint string         `placeholder:"TEXT" help:"Fingerprint, as the command errors shows it."`
	Before      command.Moment `placeholder:"TIME" help:"Set aside before this time or age, such as 1h."`
	All         bool           `help:"All of the group." xor:"way"`
	Chunk       int            `default:"10000" placeholder:"N" help:"Records a transaction, 1 to 100000."`
}

// HeldRedrive is parked redrive.
type HeldRedrive struct {
	Selecting
	changes.Carefully

	Stop bool `help:"Take a redrive back: park what was not sent yet."`
}

// Run redrives, or stops a redrive.
func (s *HeldRedrive) Run(d *command.Deps) error {
	if s.Stop {
		return s.stop(d)
	}
	return s.redrive(d, false, s.Carefully)
}

func (s *HeldRedrive) stop(d *command.Deps) error {
	if s.Carefully != (changes.Carefully{}) {
		return command.UsageError{Err: errors.New("--stop: excludes --canary and --rate")}
	}
	selection, by, store, err := s.begin(d, false)
	if err != nil {
		return err
	}
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "park", Group: s.Group}, Thing: "record", Verb: "park", Past: "Parked",
		Selection: "tried again" + strings.TrimPrefix(s.words(false), "parked"), Most: changes.MostSelected, Chunk: s.Chunk,
		Do: func(limit int, dryRun bool) (admin.Changed, error) {
			selection.Limit = limit
			changed, err := store.Redrive(d.Context, admin.ChangeRequest{By: by, Selection: selection, Group: s.Group, Stop: true, DryRun: dryRun})
			if errors.Is(err, admin.ErrNotParked) {
				err = fmt.Errorf("%w: nothing of it is tried again in group %s: %s", command.ErrNothing, show.Plain(s.Group), show.Plain(s.ID+s.Key))
			}
			return changed, err
		},
	}.Run(d, s.Changing)
}

// DeadRedrive is dead redrive.
type DeadRedrive struct {
	Selecting
	changes.Carefully
}

// Run redrives.
func (s *DeadRedrive) Run(d *command.Deps) error { return s.redrive(d, true, s.Carefully) }

// HeldDrop is parked drop.
type HeldDrop struct {
	Selecting

	WithWaiting bool `help:"With --topic alone or --all: drop what waits behind them, too. Otherwise the next of each key is tried."`
}

// Run drops.
func (s *HeldDrop) Run(d *command.Deps) error {
	byTopic := s.Key == "" && s.ID == "" && s.Kind == "" && s.Fingerprint == "" && s.Before.IsZero()
	if s.WithWaiting && !byTopic {
		return command.UsageError{Err: errors.New("--with-waiting: goes with --topic alone, or with --all")}
	}
	if !byTopic {
		return s.drop(d, false)
	}
	return s.dropTopics(d)
}

// dropTopics drops the parked records of some topics. It reports how many records wait behind them, or
// drops those as well.
func (s *HeldDrop) dropTopics(d *command.Deps) error {
	selection, by, store, err := s.begin(d, false)
	if err != nil {
		return err
	}
	drop := func(what admin.Selection, dryRun bool) (admin.Changed, error) {
		return store.Drop(d.Context, admin.ChangeRequest{By: by, Selection: what, Group: s.Group, DryRun: dryRun})
	}
	change := changes.RecordChange{
		Row: changes.ChangedRow{Action: "drop", Group: s.Group}, Thing: "record", Verb: "drop", Past: "Dropped",
		Selection: s.words(false), Most: changes.MostSelected, Chunk: s.Chunk, Question: ask.Question{TypeCount: true},
		Do: func(limit int, dryRun bool) (admin.Changed, error) {
			selection.Limit = limit
			return drop(selection, dryRun)
		},
	}
	keys, waiting, err := s.keys(d, store)
	switch {
	case err != nil:
		return err
	case waiting > 0 && !s.WithWaiting:
		change.Selection += fmt.Sprintf("; %s more behind them, the next of each key is tried then (--with-waiting drops them, too)", show.Things(int64(waiting), "record"))
	case waiting > 0:
		change.Selection += fmt.Sprintf(", with %s behind them", show.Things(int64(waiting), "record"))
		heads := change.Do
		change.Do = func(limit int, dryRun bool) (admin.Changed, error) {
			return dropKeys(keys, limit, dryRun, drop, heads)
		}
	}
	return change.Run(d, s.Changing)
}

// keys returns the keys of the topics' parked records, and the number of records that wait behind them.
func (s *HeldDrop) keys(d *command.Deps, store admin.Outbox) (all []admin.ParkedKey, waiting int, err error) {
	const page = 1000
	for query := (admin.KeysQuery{Group: s.Group, Topic: s.Topic, Limit: page}); ; query.After = all[len(all)-1].Seq {
		found, err := store.ParkedKeys(d.Context, query)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, found...)
		for _, k := range found {
			waiting += k.Records - 1
		}
		if len(found) < page {
			return all, waiting, nil
		}
	}
}

// dropKeys drops at most limit records: whole keys first, then records without a key.
func dropKeys(
	keys []admin.ParkedKey, limit int, dryRun bool, drop func(admin.Selection, bool) (admin.Changed, error), rest func(int, bool) (admin.Changed, error),
) (total admin.Changed, err error) {
	for _, k := range keys {
		if k.Key.Key == "" || total.Count >= limit {
			continue
		}
		changed, err := drop(admin.Selection{Topic: k.Key.Topic, Key: k.Key.Key, Limit: limit - total.Count}, dryRun)
		if err != nil && !errors.Is(err, admin.ErrNotParked) {
			return total, err
		}
		total.Count, total.IDs, total.Keys = total.Count+changed.Count, append(total.IDs, changed.IDs...), total.Keys+changed.Keys
	}
	if dryRun {
		for _, k := range keys {
			if k.Key.Key == "" && total.Count < limit {
				total.Count++
			}
		}
		return total, nil
	}
	if total.Count < limit {
		changed, err := rest(limit-total.Count, false)
		total.Count, total.IDs = total.Count+changed.Count, append(total.IDs, changed.IDs...)
		if err != nil && (total.Count == 0 || !errors.Is(err, admin.ErrNotParked)) {
			return total, err
		}
	}
	return total, nil
}

// DeadDrop is dead drop.
type DeadDrop Selecting

// Run drops.
func (s *DeadDrop) Run(d *command.Deps) error { return (*Selecting)(s).drop(d, true) }

func (s *Selecting) selection(dead bool) (admin.Selection, error) {
	selection := admin.Selection{ID: s.ID, Kind: s.Kind, Fingerprint: s.Fingerprint, Before: s.Before.Time, Dead: dead}
	switch {
	case s.Chunk < 1 || s.Chunk > changes.MostSelected:
		return selection, command.Usage("--chunk", strconv.Itoa(s.Chunk), "must be 1 to 100000")
	case s.Kind != "" && !slices.Contains(kinds(), s.Kind):
		return selection, command.Usage("--kind", s.Kind, "must be unknown, outage or permanent")
	case s.Key != "":
		selection.Topic, selection.Key = s.Topic, s.Key
		if s.Topic == "" {
			return selection, command.Usage("--key", s.Key, "needs the --topic of the key")
		}
	default:
		selection.Topics = s.Topic
	}
	if s.All {
		if selection.Filters() || s.Key != "" {
			return selection, command.UsageError{Err: errors.New("--all: excludes --topic, --key, --kind, --fingerprint and --before")}
		}
		selection.Topics = "*"
	}
	if !selection.Filters() && s.Key == "" && s.ID == "" {
		return selection, command.UsageError{Err: errors.New("nothing is selected: give --id, --key with --topic, a filter, or --all")}
	}
	if (s.Key != "" || s.ID != "") && (selection.Filters() || s.Key != "" && s.ID != "") {
		return selection, command.UsageError{Err: errors.New("--id, --key and the filters --topic, --kind, --fingerprint, --before exclude each other")}
	}
	return selection, nil
}

// kinds are the values of --kind.
func kinds() []string {
	return []string{outbox.FailureUnknown.String(), outbox.FailureOutage.String(), outbox.FailurePermanent.String()}
}

// words describes the selection.
func (s *Selecting) words(dead bool) string {
	what := "parked"
	if dead {
		what = "dead"
	}
	words := []string{fmt.Sprintf("%s in group %s", what, show.Plain(s.Group))}
	for _, part := range []struct{ name, value string }{
		{"id", s.ID}, {"topic", s.Topic}, {"key", s.Key}, {"kind", s.Kind}, {"fingerprint", s.Fingerprint},
	} {
		if part.value != "" {
			words = append(words, part.name+" "+show.Plain(part.value))
		}
	}
	if !s.Before.IsZero() {
		words = append(words, "set aside before "+s.Before.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return strings.Join(words, ", ")
}

// begin returns what a change needs: the selection, the actor and reason, and the store. A selection by
// filters is restricted to records that exist now.
func (s *Selecting) begin(d *command.Deps, dead bool) (selection admin.Selection, by admin.By, store admin.Outbox, err error) {
	if selection, err = s.selection(dead); err != nil {
		return selection, by, nil, err
	}
	if by, err = d.By(s.Changing); err != nil {
		return selection, by, nil, err
	}
	store, err = d.StoreWith(s.Group, dead)
	if err == nil && selection.Filters() {
		err = changes.Pin(d, &selection.Before)
	}
	return selection, by, store, err
}

func (s *Selecting) redrive(d *command.Deps, dead bool, how changes.Carefully) error {
	if err := how.Check(); err != nil {
		return err
	}
	selection, by, store, err := s.begin(d, dead)
	if err != nil {
		return err
	}
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "redrive", Group: s.Group}, Thing: "record", Verb: "redrive", Past: "Redrove",
		Selection: s.words(dead), Most: changes.MostSelected, Chunk: s.Chunk, How: how,
		Proved: func(ids []string) error { return changes.Proved(d, store, s.Group, ids) },
		Do: func(limit int, dryRun bool) (admin.Changed, error) {
			selection.Limit = limit
			return store.Redrive(d.Context, admin.ChangeRequest{By: by, Selection: selection, Group: s.Group, DryRun: dryRun})
		},
	}.Run(d, s.Changing)
}

func (s *Selecting) drop(d *command.Deps, dead bool) error {
	selection, by, store, err := s.begin(d, dead)
	if err != nil {
		return err
	}
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "drop", Group: s.Group}, Thing: "record", Verb: "drop", Past: "Dropped",
		Selection: s.words(dead), Most: changes.MostSelected, Chunk: s.Chunk,
		Question: ask.Question{Name: s.Key + s.ID, TypeCount: true},
		Do: func(limit int, dryRun bool) (admin.Changed, error) {
			selection.Limit = limit
			return store.Drop(d.Context, admin.ChangeRequest{By: by, Selection: selection, Group: s.Group, DryRun: dryRun})
		},
	}.Run(d, s.Changing)
}

// ParkedSkip is parked skip.
type ParkedSkip struct {
	command.Changing

	Topic string `required:"" placeholder:"TOPIC" help:"Topic of the key." predictor:"topic"`
	Key   string `required:"" placeholder:"KEY" help:"The parked key."`
	Group string `default:"default" placeholder:"GROUP" help:"Relay group." predictor:"group"`
}

// Run skips the key's first record.
func (p *ParkedSkip) Run(d *command.Deps) error {
	by, err := d.By(p.Changing)
	if err != nil {
		return err
	}
	store, err := d.StoreWith(p.Group, false)
	if err != nil {
		return err
	}
	return changes.RecordChange{
		Row: changes.ChangedRow{Action: "skip_head", Group: p.Group}, Thing: "record", Verb: "drop", Past: "Dropped",
		Selection: fmt.Sprintf("the first of key %s of topic %s in group %s", show.Plain(p.Key), show.Plain(p.Topic), show.Plain(p.Group)),
		Question:  ask.Question{Name: p.Key}, Most: 2, Chunk: 1,
	}.Skip(d, p.Changing, func(id string, dryRun bool) (admin.Changed, error) {
		return store.SkipHead(d.Context, admin.SkipHeadRequest{By: by, Group: p.Group, Key: driver.Key{Topic: p.Topic, Key: p.Key}, ID: id, DryRun: dryRun})
	}, func(id string) (string, int64, error) {
		held, err := store.Held(d.Context, admin.HeldQuery{Group: p.Group, Topic: p.Topic, Key: p.Key, OmitPayload: true})
		for _, r := range held {
			if r.ID == id && r.Topic == p.Topic && !r.Waits {
				return "seq", r.Seq, nil
			}
		}
		return "seq", 0, err
	})
}
