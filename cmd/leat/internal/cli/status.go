package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Status is the command status.
type Status struct {
	Watch Span   `placeholder:"DURATION" help:"Look again every so often, at least 100ms, until interrupted."`
	Group string `placeholder:"GROUP" help:"This group only." predictor:"group"`
}

// Run prints the status, again and again if it is watched.
func (s *Status) Run(d *Deps) error {
	watch := time.Duration(s.Watch)
	if watch == 0 {
		return s.once(d)
	}
	if watch < 100*time.Millisecond {
		return usage("--watch", watch.String(), "must be at least 100ms")
	}
	if d.Format == show.JSON {
		return usage("--watch", watch.String(), "goes with -o table or jsonl: json is one document")
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

func (s *Status) once(d *Deps) error {
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
	if err := state.list().Print(d.Printer, state.lines(), ""); err != nil {
		return err
	}
	if out := state.outages(); len(out) > 0 {
		if err := outageList().Print(d.Printer, out, ""); err != nil {
			return err
		}
	}
	return d.Line("%s", state.footer())
}

// look asks store for all that the status shows.
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
