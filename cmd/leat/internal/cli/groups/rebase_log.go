package groups

import (
	"fmt"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// rebasedLog is the JSON of a rebase of all groups.
type rebasedLog struct {
	DryRun   bool     `json:"dry_run"`
	Groups   []string `json:"groups"`
	Start    string   `json:"start"`
	Problems []string `json:"problems"`
	// Newest is the number of the newest message, and so an upper bound of the messages to send.
	Newest int64 `json:"newest"`
}

// allGroups rebases all groups of a store that cannot rebase a single one.
func (r *Rebase) allGroups(d *command.Deps, db open.Database, rebaser open.LogRebaser) error {
	if !r.AllGroups || r.Start != "oldest" {
		return command.UsageError{Err: fmt.Errorf("on %s all groups begin anew at once, at the oldest message: give --all-groups --start oldest", db.Product())}
	}
	by, err := d.By(r.Changing)
	if err != nil {
		return err
	}
	store, err := db.Outbox()
	if err != nil {
		return err
	}
	log, err := r.lookAtLog(d, store)
	if err != nil {
		return err
	}
	if r.DryRun {
		return log.print(d)
	}
	if err := d.Confirm(r.Changing, ask.Question{Text: log.sentence(), Name: "all groups"}); err != nil {
		return err
	}
	if err := d.Bar("rebasing", "", 0).Spin(func() error { return rebaser.RebaseLog(d.Context, by) }); err != nil {
		return err
	}
	return log.print(d)
}

// lookAtLog makes the same checks as the store, and returns the problems of its groups.
func (r *Rebase) lookAtLog(d *command.Deps, store admin.Outbox) (rebasedLog, error) {
	log := rebasedLog{DryRun: r.DryRun, Groups: []string{}, Start: r.Start, Problems: []string{}}
	stats, err := store.Stats(d.Context)
	if err != nil {
		return log, err
	}
	log.Newest = max(0, stats.LastSeq)
	for _, g := range stats.Groups {
		log.Groups = append(log.Groups, g.Name)
		problems, err := rebasable(g)
		if err != nil {
			return log, err
		}
		for _, problem := range problems {
			log.Problems = append(log.Problems, fmt.Sprintf("group %s, %s", g.Name, problem))
		}
	}
	return log, nil
}

func (l rebasedLog) sentence() string {
	return fmt.Sprintf("All groups (%s) would start over at the oldest message of the log, whose newest has the number %d. %s",
		l.names(), l.Newest, wrong(l.Problems))
}

func (l rebasedLog) names() string { return show.Plain(strings.Join(l.Groups, ", ")) }

func (l rebasedLog) print(d *command.Deps) error {
	switch {
	case d.Format != show.Table:
		return d.Document(l)
	case l.DryRun:
		return d.Paragraph("%s", l.sentence())
	default:
		return d.Paragraph("Rebased all groups: %s.", l.names())
	}
}
