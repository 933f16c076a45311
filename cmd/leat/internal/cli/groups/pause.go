package groups

import (
	"fmt"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// GroupsPause is groups pause.
type GroupsPause struct {
	command.Changing

	Group string   `arg:"" predictor:"group"`
	Topic []string `sep:"none" placeholder:"PATTERN" help:"Topics to pause; repeat it. Defaults to the whole group." predictor:"topic"`
}

// Run pauses.
func (g *GroupsPause) Run(d *command.Deps) error {
	return pauseOrResume(d, "pause", g.Changing, admin.PauseRequest{Group: g.Group, Topics: g.Topic})
}

// GroupsResume is groups resume.
type GroupsResume struct {
	command.Changing

	Group string   `arg:"" predictor:"group"`
	Topic []string `sep:"none" placeholder:"PATTERN" help:"Paused patterns; repeat it. Defaults to all." predictor:"topic"`
}

// Run resumes the group.
func (g *GroupsResume) Run(d *command.Deps) error {
	return pauseOrResume(d, "resume", g.Changing, admin.PauseRequest{Group: g.Group, Topics: g.Topic})
}

func pauseOrResume(d *command.Deps, action string, flags command.Changing, request admin.PauseRequest) error {
	store, err := d.Store(request.Group)
	pauser, err := command.Capable[admin.Manager](d, store, err, action+" groups")
	if err != nil {
		return err
	}
	if request.By, err = d.By(flags); err != nil {
		return err
	}
	group, err := findGroup(d, pauser, request.Group)
	if err != nil {
		return err
	}
	compute, change := request.Pause, pauser.Pause
	if action == "resume" {
		compute, change = request.Resume, pauser.Resume
	}
	after, err := compute(group.Paused)
	if err != nil {
		return fmt.Errorf("--topic %q: %w", request.Topics, err)
	}
	row := groupChange{Action: action, DryRun: flags.DryRun, Group: request.Group, before: paused(group.Paused), after: paused(after)}
	return row.run(d, flags, ask.Question{}, func() error { return change(d.Context, request) })
}

func paused(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing paused"
	}
	return "paused: " + show.Plain(strings.Join(patterns, ", "))
}

// groupChange is the JSON of a change of a group that discards nothing.
type groupChange struct {
	Action string `json:"action"`
	DryRun bool   `json:"dry_run"`
	Group  string `json:"group"`

	before, after string
}

// run asks for confirmation, makes the change and prints it.
func (c groupChange) run(d *command.Deps, flags command.Changing, q ask.Question, change func() error) error {
	from := fmt.Sprintf("group %s: %s → %s", show.Plain(c.Group), c.before, c.after)
	if !flags.DryRun {
		q.Text = "Would change " + from + "."
		if err := d.Confirm(flags, q); err != nil {
			return err
		}
		if err := change(); err != nil {
			return err
		}
	}
	if d.Format != show.Table {
		return d.Document(c)
	}
	if flags.DryRun {
		return d.Paragraph("Would change %s.", from)
	}
	return d.Paragraph("Changed %s.", from)
}
