package diagnose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Status is the command status.
type Status struct {
	Watch command.Every `placeholder:"DURATION" help:"Refresh every 2s, or as given, at least 100ms."`
	Group string        `placeholder:"GROUP" help:"This group only." predictor:"group"`
	All   bool          `help:"All outboxes of the file."`

	Summary bool `help:"A few lines for a chat, with runbooks; exit status 5 if something is wrong."`
}

// allStatus is the JSON of the status of all outboxes.
type allStatus struct {
	Outboxes []namedStatus `json:"outboxes"`
}

type namedStatus struct {
	Outbox string `json:"outbox"`
	statusRow
}

// every prints the status of all outboxes of the file, those that answer first.
func (s *Status) every(d *command.Deps) error {
	var all allStatus
	failed := d.EachOutbox(func(name string, sub *command.Deps) error {
		store, err := sub.Store(s.Group)
		if err != nil {
			return err
		}
		state, err := s.look(d.Context, store, d.Now())
		if err == nil {
			all.Outboxes = append(all.Outboxes, namedStatus{name, state})
		}
		return err
	})
	if d.Format != show.Table {
		return errors.Join(d.Document(all), failed)
	}
	for _, o := range all.Outboxes {
		if err := d.Paragraph("Outbox %s", show.Cell(o.Outbox)); err != nil {
			return err
		}
		if err := o.print(d); err != nil {
			return err
		}
	}
	return failed
}

// Run prints the status, repeatedly with --watch.
func (s *Status) Run(d *command.Deps) error {
	watch := time.Duration(s.Watch)
	if s.Summary {
		if watch != 0 {
			return command.Usage("--watch", watch.String(), "does not go with --summary")
		}
		return s.summarise(d)
	}
	if watch == 0 {
		return s.once(d)
	}
	if watch < 100*time.Millisecond {
		return command.Usage("--watch", watch.String(), "must be at least 100ms")
	}
	if d.Format == show.JSON {
		return command.Usage("--watch", watch.String(), "goes with -o table or jsonl: json is one document")
	}
	ticker := time.NewTicker(watch)
	defer ticker.Stop()
	for {
		if d.Width > 0 && d.Format == show.Table {
			_, _ = fmt.Fprint(d.Out, "\x1b[H\x1b[2J")
		}
		if err := s.once(d); err != nil {
			return err
		}
		select {
		case <-d.Context.Done():
			return context.Cause(d.Context)
		case <-ticker.C:
		}
	}
}

func (s *Status) once(d *command.Deps) error {
	if s.All {
		return s.every(d)
	}
	store, err := d.Store(s.Group)
	if err != nil {
		return err
	}
	state, err := s.look(d.Context, store, d.Now())
	if err != nil {
		return err
	}
	if d.Format != show.Table {
		return d.Document(state)
	}
	return state.print(d)
}

func (s *statusRow) print(d *command.Deps) error {
	if err := s.list().Print(d.Printer, s.lines(), ""); err != nil {
		return err
	}
	if out := s.outages(); len(out) > 0 {
		if err := command.OutageList().Print(d.Printer, out, ""); err != nil {
			return err
		}
	}
	return d.Paragraph("%s", s.footer())
}

// look reads all that the status shows from store.
func (s *Status) look(ctx context.Context, store admin.Outbox, now time.Time) (statusRow, error) {
	stats, err := store.Stats(ctx)
	if err != nil {
		return statusRow{}, err
	}
	groups, err := store.Groups(ctx)
	if err != nil {
		return statusRow{}, err
	}
	var ranges []admin.Range
	lister, hasRanges := store.(admin.RangeLister)
	if hasRanges {
		if ranges, err = lister.Ranges(ctx); err != nil {
			return statusRow{}, err
		}
	}
	state := newStatus(now, stats, groups, ranges)
	if s.Group != "" {
		state.only(s.Group)
		if len(state.Groups) == 0 {
			return state, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, s.Group)
		}
	}
	return state, nil
}
