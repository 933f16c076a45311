package groups

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Rebase is the command rebase.
type Rebase struct {
	command.Changing

	Group        string `placeholder:"GROUP" help:"Group with stopped relays, on PostgreSQL." predictor:"group"`
	AllGroups    bool   `help:"All groups, with stopped relays, on MySQL, MariaDB and SQLite."`
	KeepPosition bool   `help:"Keep the position, after pg_upgrade."`
	Start        string `placeholder:"WHERE" help:"Start at unsettled (the first unsettled message), oldest, now, or a time. Ids stay the same."`
	LeaveOut     int64  `placeholder:"N" help:"Unsettled messages that may never be sent, at most. Defaults to 0."`
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
	Guesses      int64    `json:"guesses"`
	Adopts       int64    `json:"adopts"`
	Later        int64    `json:"later"`
}

// Run rebases the group, or all of them.
func (r *Rebase) Run(d *command.Deps) error {
	db, err := d.OpenFor(open.Target{Group: r.Group})
	if err != nil {
		return err
	}
	if all, ok := db.(open.LogRebaser); ok {
		return r.allGroups(d, db, all)
	}
	rebaser, err := command.Capable[open.Rebaser](d, db, nil, "rebase groups")
	if err != nil {
		return err
	}
	request, err := r.request(d)
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
	row.Sends, row.Repeats, row.LeavesOut = plan.Sends, plan.Repeats, plan.LeavesOut
	row.Guesses, row.Adopts, row.Later = plan.Guesses, plan.Adopts, plan.Later
	if r.DryRun {
		return row.print(d)
	}
	if plan.LeavesOut > r.LeaveOut {
		return command.Usage("--leave-out", strconv.FormatInt(r.LeaveOut, 10), fmt.Sprintf(
			"must be at least %d: so many messages that group %s has not settled would never be sent; --start unsettled sends them", plan.LeavesOut, show.Plain(r.Group)))
	}
	if err := d.Confirm(r.Changing, ask.Question{Text: row.sentence(), Name: r.Group}); err != nil {
		return err
	}
	if err := d.Bar("rebasing", "", 0).Spin(func() error { return rebaser.Rebase(d.Context, request) }); err != nil {
		return err
	}
	return row.print(d)
}

func (r *Rebase) request(d *command.Deps) (open.RebaseRequest, error) {
	request := open.RebaseRequest{
		Group: r.Group, KeepPosition: r.KeepPosition, Unsettled: r.Start == "unsettled", Oldest: r.Start == "oldest", LeaveOut: r.LeaveOut,
	}
	if r.KeepPosition == (r.Start != "") {
		return request, command.UsageError{Err: errors.New("give --keep-position, or --start unsettled, oldest, now or a time")}
	}
	if r.LeaveOut < 0 {
		return request, command.Usage("--leave-out", strconv.FormatInt(r.LeaveOut, 10), "must not be negative")
	}
	if !slices.Contains([]string{"", "unsettled", "oldest", "now"}, r.Start) {
		at, err := time.Parse(time.RFC3339, r.Start)
		if err != nil {
			return request, command.Usage("--start", r.Start, "must be unsettled, oldest, now, or a time such as 2026-01-05T10:00:00Z")
		}
		request.At = at
	}
	if r.Group == "" || r.AllGroups {
		return request, command.UsageError{Err: errors.New("give --group: on PostgreSQL each group is rebased by itself")}
	}
	by, err := d.By(r.Changing)
	request.By = by
	return request, err
}

// look makes the same checks as the store, and returns the problems of the group.
func (r *Rebase) look(d *command.Deps, store admin.Outbox) (rebaseRow, error) {
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
		if row.Problems, err = rebasable(g); err != nil {
			return row, err
		}
	}
	return row, nil
}

// rebasable returns an error if a relay leads the group, and otherwise the problems of its slots.
func rebasable(g admin.GroupStats) ([]string, error) {
	problems := []string{}
	for _, s := range g.Slots {
		if s.LeaseLeft > 0 {
			return nil, fmt.Errorf("%w: slot %d of group %s is led by %s: stop the relays of the group first",
				driver.ErrLeaseHeld, s.Slot, show.Plain(g.Name), show.Plain(s.Owner))
		}
		if s.Problem != "" {
			problems = append(problems, fmt.Sprintf("slot %d: %s", s.Slot, s.Problem))
		}
	}
	return problems, nil
}

// wrong describes the problems of positions in a sentence.
func wrong(problems []string) string {
	if len(problems) == 0 {
		return "The positions fit the database: a rebase fixes nothing."
	}
	return "What is wrong: " + show.Plain(strings.Join(problems, "; ")) + "."
}

func (r rebaseRow) sentence() string {
	how := "start over at " + r.Start
	if r.KeepPosition {
		how = "keep its position"
	}
	amounts := fmt.Sprintf("It would send %s, of which it has settled %s before, and leave out %s that it has not settled.",
		show.Things(r.Sends, "message"), show.Count(r.Repeats), show.Count(r.LeavesOut))
	if r.Guesses > 0 {
		amounts += fmt.Sprintf(" %s are a guess: the position has settled them, and one of their number and time is younger. They count as not settled.", show.Count(r.Guesses))
	}
	if r.Later > 0 {
		amounts += fmt.Sprintf(" What is delayed or set aside is sent later in any case: %s.", show.Things(r.Later, "message"))
	}
	return fmt.Sprintf("Group %s would %s. %s %s", show.Plain(r.Group), how, amounts, wrong(r.Problems))
}

func (r rebaseRow) print(d *command.Deps) error {
	if d.Format != show.Table {
		return d.Document(r)
	}
	if r.DryRun {
		return d.Paragraph("%s", r.sentence())
	}
	return d.Paragraph("Rebased group %s.", show.Plain(r.Group))
}
