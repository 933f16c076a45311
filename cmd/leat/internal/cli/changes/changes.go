// Package changes plans, confirms and carries out commands that change many records, and shows who changed
// what.
package changes

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// ChangedRow is the JSON of a change of records.
type ChangedRow struct {
	Action   string   `json:"action"`
	DryRun   bool     `json:"dry_run"`
	Group    string   `json:"group,omitempty"`
	Consumer string   `json:"consumer,omitempty"`
	Count    int      `json:"count"`
	AtLeast  bool     `json:"at_least,omitempty"`
	IDs      []string `json:"ids"`
	// Unread is how many messages a group has not read and will never send.
	Unread int64 `json:"unread,omitempty"`
	// Keys and Oldest are only set in a dry run.
	Keys   int       `json:"keys,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"`

	Would, Did string `json:"-"`
}

// Print prints what was changed, or would be.
func (c ChangedRow) Print(d *command.Deps) error {
	if c.IDs == nil {
		c.IDs = []string{}
	}
	switch {
	case d.Format != show.Table:
		return d.Document(c)
	case c.DryRun:
		return d.Paragraph("%s", c.Would)
	default:
		return d.Paragraph("%s", c.Did)
	}
}

// RecordChange changes records in a loop until all selected ones are changed: a store changes at most a
// chunk in one transaction.
type RecordChange struct {
	Row ChangedRow
	// Thing is the word for a record. Verb and Past are the words for the change, such as redrive and
	// Redrove.
	Thing, Verb, Past string
	// Selection describes the selected records in words.
	Selection string
	// Question is asked in addition to its text.
	Question ask.Question
	// Most is the largest limit of a call, Chunk the largest of a transaction.
	Most, Chunk int
	// Do makes the change. In a dry run it returns what it would change.
	Do func(limit int, dryRun bool) (admin.Changed, error)
	// How are the flags that make the change careful; Proved returns an error if what was changed first has
	// failed again.
	How    Carefully
	Proved func(ids []string) error
}

// Run plans the change, asks, and makes it.
func (c RecordChange) Run(d *command.Deps, flags command.Changing) error {
	planned, err := c.Do(c.Most, true)
	if err != nil {
		return err
	}
	c.Row.Count, c.Row.IDs, c.Row.AtLeast = planned.Count, planned.IDs, planned.Count >= c.Most
	amount := show.Things(int64(planned.Count), c.Thing)
	if c.Row.AtLeast {
		amount = "at least " + amount
	}
	if planned.Keys > 0 {
		amount += " of " + show.Things(int64(planned.Keys), "key")
	}
	if !planned.Oldest.IsZero() {
		amount += ", the oldest set aside " + d.Time(planned.Oldest)
	}
	c.Row.Would = fmt.Sprintf("Would %s %s: %s.", c.Verb, amount, c.Selection)
	if flags.DryRun {
		c.Row.DryRun, c.Row.Keys, c.Row.Oldest = true, planned.Keys, planned.Oldest.UTC()
		return c.Row.Print(d)
	}
	if planned.Count == 0 {
		c.Row.Did = fmt.Sprintf("Nothing to %s: %s.", c.Verb, c.Selection)
		return c.Row.Print(d)
	}
	c.Question.Text, c.Question.Count = c.Row.Would, planned.Count
	if err := d.Confirm(flags, c.Question); err != nil {
		return err
	}
	return c.all(d, planned.Count)
}

// Pin restricts a filter to the records that exist now, by the database's clock. Records that are set aside
// while the operator reads the plan are not selected.
func Pin(d *command.Deps, before *time.Time) error {
	db, err := d.Open()
	clock, err := command.Capable[open.Clock](d, db, err, "tell its time")
	if err != nil {
		return err
	}
	now, err := clock.Now(d.Context)
	if err == nil && (before.IsZero() || before.After(now)) {
		*before = now
	}
	return err
}

// all changes the planned records, and continues if there were more than one plan can count.
func (c RecordChange) all(d *command.Deps, planned int) error {
	done := admin.Changed{}
	bar := d.Bar(c.Verb, c.Thing+"s", int64(planned))
	err := c.canary(planned, &done)
	if err == nil {
		err = c.chunks(d, planned, &done, func() { bar.Set(int64(done.Count)) })
	}
	bar.End()
	c.Row.Count, c.Row.IDs, c.Row.AtLeast = done.Count, done.IDs, false
	c.Row.Did = fmt.Sprintf("%s %s.", c.Past, show.Things(int64(done.Count), c.Thing))
	if err != nil && done.Count > 0 {
		d.Note("%s", c.Row.Did)
	}
	if err != nil {
		return err
	}
	return c.Row.Print(d)
}

// chunks stops once all planned records are changed. A record that fails again in between is parked again,
// so that the loop would never end otherwise.
func (c RecordChange) chunks(d *command.Deps, planned int, done *admin.Changed, progress func()) error {
	for more := planned >= c.Most; done.Count < planned; {
		progress()
		if err := d.Context.Err(); err != nil {
			return err
		}
		if err := c.How.pace(d.Context, done.Count); err != nil {
			return err
		}
		changed, err := c.Do(min(c.How.chunk(c.Chunk), planned-done.Count), false)
		if errors.Is(err, admin.ErrNotParked) && done.Count > 0 {
			return nil
		}
		done.Count += changed.Count
		done.IDs = append(done.IDs, changed.IDs...)
		if err != nil || changed.Count == 0 {
			return err
		}
		if more && done.Count >= planned {
			rest, err := c.Do(c.Most, true)
			if err != nil {
				return err
			}
			planned, more = planned+rest.Count, rest.Count >= c.Most
		}
	}
	return nil
}
