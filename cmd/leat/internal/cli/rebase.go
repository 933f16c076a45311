package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Rebase is the command rebase.
type Rebase struct {
	Changing

	Group        string `required:"" placeholder:"GROUP" help:"The group, whose relays are stopped." predictor:"group"`
	KeepPosition bool   `help:"Keep the position, for a database that was moved by pg_upgrade."`
	Start        string `placeholder:"WHERE" help:"Start over at oldest, now, or a time. What is sent again has the same ids."`
}

// rebaseRow is the JSON of a rebase.
type rebaseRow struct {
	DryRun       bool     `json:"dry_run"`
	Group        string   `json:"group"`
	KeepPosition bool     `json:"keep_position"`
	Start        string   `json:"start,omitempty"`
	Problems     []string `json:"problems"`
	Sends        int64    `json:"sends"`
	Repeats      int64    `json:"repeats"`
	LeavesOut    int64    `json:"leaves_out"`
	Adopts       int64    `json:"adopts"`
}

// Run rebases the group.
func (r *Rebase) Run(d *Deps) error {
	request, err := r.request(d)
	if err != nil {
		return err
	}
	db, err := d.openFor(open.Target{Group: r.Group})
	rebaser, err := capable[open.Rebaser](d, db, err, "rebase groups")
	if err != nil {
		return err
	}
	store, err := db.Outbox()
	if err != nil {
		return err
	}
	row, err := r.look(d, store)
	if err != nil {
		return err
	}
	plan, err := rebaser.PlanRebase(d.Context, request)
	if err != nil {
		return err
	}
	row.Sends, row.Repeats, row.LeavesOut, row.Adopts = plan.Sends, plan.Repeats, plan.LeavesOut, plan.Adopts
	if r.DryRun {
		return row.print(d)
	}
	if err := d.confirm(r.Changing, ask.Question{Text: row.sentence(), Name: r.Group}); err != nil {
		return err
	}
	if err := d.bar("rebasing", "", 0).Spin(func() error { return rebaser.Rebase(d.Context, request) }); err != nil {
		return err
	}
	return row.print(d)
}

func (r *Rebase) request(d *Deps) (open.RebaseRequest, error) {
	request := open.RebaseRequest{Group: r.Group, KeepPosition: r.KeepPosition, Oldest: r.Start == "oldest"}
	if r.KeepPosition == (r.Start != "") {
		return request, usageError{errors.New("give --keep-position, or --start oldest, now or a time")}
	}
	if r.Start != "" && r.Start != "oldest" && r.Start != "now" {
		at, err := time.Parse(time.RFC3339, r.Start)
		if err != nil {
			return request, usage("--start", r.Start, "must be oldest, now, or a time such as 2026-01-05T10:00:00Z")
		}
		request.At = at
	}
	by, err := d.by(r.Changing)
	request.By = by
	return request, err
}

// look refuses what the store would refuse, and tells what is wrong with the group.
func (r *Rebase) look(d *Deps, store admin.Outbox) (rebaseRow, error) {
	row := rebaseRow{DryRun: r.DryRun, Group: r.Group, KeepPosition: r.KeepPosition, Start: r.Start, Problems: []string{}}
	if _, err := findGroup(d, store, r.Group); err != nil {
		return row, err
	}
	stats, err := store.Stats(d.Context)
	if err != nil {
		return row, err
	}
	for _, g := range stats.Groups {
		if g.Name != r.Group {
			continue
		}
		for _, s := range g.Slots {
			if s.LeaseLeft > 0 {
				return row, fmt.Errorf("%w: slot %d is led by %s: stop the relays of the group first", driver.ErrLeaseHeld, s.Slot, show.Plain(s.Owner))
			}
			if s.Problem != "" {
				row.Problems = append(row.Problems, fmt.Sprintf("slot %d: %s", s.Slot, s.Problem))
			}
		}
	}
	return row, nil
}

func (r rebaseRow) sentence() string {
	how := "start over at " + r.Start
	if r.KeepPosition {
		how = "keep its position"
	}
	problems := "Its position fits the database: a rebase mends nothing."
	if len(r.Problems) > 0 {
		problems = "What is wrong: " + show.Plain(fmt.Sprint(r.Problems)) + "."
	}
	amounts := fmt.Sprintf("It would send %s, of which it has settled %s before, and leave out %s that it has not settled.",
		show.Things(r.Sends, "message"), show.Count(r.Repeats), show.Count(r.LeavesOut))
	return fmt.Sprintf("Group %s would %s. %s %s", show.Plain(r.Group), how, amounts, problems)
}

func (r rebaseRow) print(d *Deps) error {
	if d.Format != show.Table {
		return d.Document(r)
	}
	if r.DryRun {
		return d.Line("%s", r.sentence())
	}
	return d.Line("Rebased group %s.", show.Plain(r.Group))
}
