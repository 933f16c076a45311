package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// changedRow is the JSON of a change of records.
type changedRow struct {
	Action   string   `json:"action"`
	DryRun   bool     `json:"dry_run"`
	Group    string   `json:"group,omitempty"`
	Consumer string   `json:"consumer,omitempty"`
	Count    int      `json:"count"`
	AtLeast  bool     `json:"at_least,omitempty"`
	IDs      []string `json:"ids"`
	// Keys and Oldest are those of a dry run.
	Keys   int       `json:"keys,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"`

	would, did string
}

func (c changedRow) print(d *Deps) error {
	if c.IDs == nil {
		c.IDs = []string{}
	}
	switch {
	case d.Format != show.Table:
		return d.Document(c)
	case c.DryRun:
		return d.Line("%s", c.would)
	default:
		return d.Line("%s", c.did)
	}
}

// recordChange changes records until all that are selected are changed: a store changes
// no more than a chunk in one transaction.
type recordChange struct {
	row changedRow
	// thing is what a record is called, verb and past what is done to it: redrive,
	// Redrove.
	thing, verb, past string
	// selection is which, in words.
	selection string
	// question is what is asked beside its text.
	question ask.Question
	// most is the largest limit of a call, chunk the one of a transaction.
	most, chunk int
	// do makes the change. In a dry run it returns what it would change.
	do func(limit int, dryRun bool) (admin.Changed, error)
	// how careful the change is; proved returns an error if what was changed first has failed again.
	how    Carefully
	proved func(ids []string) error
}

func (c recordChange) run(d *Deps, flags Changing) error {
	planned, err := c.do(c.most, true)
	if err != nil {
		return err
	}
	c.row.Count, c.row.IDs, c.row.AtLeast = planned.Count, planned.IDs, planned.Count >= c.most
	amount := show.Things(int64(planned.Count), c.thing)
	if c.row.AtLeast {
		amount = "at least " + amount
	}
	if planned.Keys > 0 {
		amount += " of " + show.Things(int64(planned.Keys), "key")
	}
	if !planned.Oldest.IsZero() {
		amount += ", the oldest set aside " + d.Time(planned.Oldest)
	}
	c.row.would = fmt.Sprintf("Would %s %s: %s.", c.verb, amount, c.selection)
	if flags.DryRun {
		c.row.DryRun, c.row.Keys, c.row.Oldest = true, planned.Keys, planned.Oldest.UTC()
		return c.row.print(d)
	}
	if planned.Count == 0 {
		c.row.did = fmt.Sprintf("Nothing to %s: %s.", c.verb, c.selection)
		return c.row.print(d)
	}
	c.question.Text, c.question.Count = c.row.would, planned.Count
	if err := d.confirm(flags, c.question); err != nil {
		return err
	}
	return c.all(d, planned.Count)
}

// pin lets a filter select what there is now, by the database's clock: what is set aside
// while the operator reads the plan is no part of it.
func (d *Deps) pin(before *time.Time) error {
	db, err := d.Open()
	clock, err := capable[open.Clock](d, db, err, "tell its time")
	if err != nil {
		return err
	}
	now, err := clock.Now(d.Context)
	if err == nil && (before.IsZero() || before.After(now)) {
		*before = now
	}
	return err
}

// all changes what was planned, and goes on if there was more than one plan can tell.
func (c recordChange) all(d *Deps, planned int) error {
	done := admin.Changed{}
	bar := d.bar(c.verb, c.thing+"s", int64(planned))
	err := c.canary(planned, &done)
	if err == nil {
		err = c.chunks(d, planned, &done, func() { bar.Set(int64(done.Count)) })
	}
	bar.End()
	c.row.Count, c.row.IDs, c.row.AtLeast = done.Count, done.IDs, false
	c.row.did = fmt.Sprintf("%s %s.", c.past, show.Things(int64(done.Count), c.thing))
	if err != nil && done.Count > 0 {
		d.Note("%s", c.row.did)
	}
	if err != nil {
		return err
	}
	return c.row.print(d)
}

// chunks stops once all that was planned is changed: what fails again meanwhile is parked
// again, and would be changed without an end.
func (c recordChange) chunks(d *Deps, planned int, done *admin.Changed, progress func()) error {
	for more := planned >= c.most; done.Count < planned; {
		progress()
		if err := d.Context.Err(); err != nil {
			return err
		}
		if err := c.how.pace(d.Context, done.Count); err != nil {
			return err
		}
		changed, err := c.do(min(c.how.chunk(c.chunk), planned-done.Count), false)
		if errors.Is(err, admin.ErrNotParked) && done.Count > 0 {
			return nil
		}
		done.Count += changed.Count
		done.IDs = append(done.IDs, changed.IDs...)
		if err != nil || changed.Count == 0 {
			return err
		}
		if more && done.Count >= planned {
			rest, err := c.do(c.most, true)
			if err != nil {
				return err
			}
			planned, more = planned+rest.Count, rest.Count >= c.most
		}
	}
	return nil
}
