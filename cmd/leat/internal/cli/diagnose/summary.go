package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

// summaryRow is the JSON of a group in a few words.
type summaryRow struct {
	Outbox        string  `json:"outbox,omitempty"`
	Group         string  `json:"group"`
	Bad           bool    `json:"bad"`
	Waiting       int64   `json:"waiting"`
	OldestSeconds float64 `json:"oldest_seconds"`
	// Rate is how many records per second were settled during the command.
	Rate float64 `json:"rate"`
	// DrainSeconds is how long the rest takes at this rate, including what is enqueued in the meantime. It
	// is left out if that never ends.
	DrainSeconds *float64    `json:"drain_seconds,omitempty"`
	Why          []whyRow    `json:"why,omitempty"`
	at           admin.Stats // the first snapshot
}

// whyRow is a problem and where to read about its solution.
type whyRow struct {
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"`
	Runbook string `json:"runbook"`
}

// runbooks are the anchors of docs/operations.md, by the state of an answer.
var runbooks = map[string]string{ //nolint:gochecknoglobals // a table
	"position": "leatpositionunusable", "no relay": "leatnoleader", "out": "leatbreakeropen", "parked": "leatparked",
	"retried": "leatretrying", "behind": "leatstale", "overdue": "leatmaintenancesilent", "paused": "groups",
}

const runbookURL = "https://github.com/leat-go/leat/blob/main/docs/operations.md#"

// summaryOver is the time between the two snapshots that yield the rate.
const summaryOver = 2 * time.Second

// summarise prints each group in a few words, for a chat. It takes two snapshots, since a rate needs two.
func (s *Status) summarise(d *command.Deps) error {
	first, err := s.summaries(d)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := wait.For(d.Context, summaryOver); err != nil {
		return err
	}
	all, err := s.summaries(d)
	if err != nil {
		return err
	}
	bad := false
	for i := range all {
		at := slices.IndexFunc(first, func(f summaryRow) bool { return f.Outbox == all[i].Outbox && f.Group == all[i].Group })
		if at >= 0 {
			all[i].since(first[at], time.Since(began))
		}
		bad = bad || all[i].Bad
	}
	if err := printSummaries(d, all); err != nil {
		return err
	}
	if bad {
		return command.ErrFindings
	}
	return nil
}

// since fills in the figures that need two snapshots.
func (s *summaryRow) since(before summaryRow, took time.Duration) {
	less := float64(before.Waiting - s.Waiting)
	s.Rate = max(0, (less+float64(s.at.LastSeq-before.at.LastSeq))/took.Seconds())
	switch shrinks := less / took.Seconds(); {
	case s.Waiting == 0:
		s.DrainSeconds = new(float64)
	case shrinks > 0:
		drain := float64(s.Waiting) / shrinks
		s.DrainSeconds = &drain
	}
}

// summaries are the groups of the outbox, or of every outbox of the file.
func (s *Status) summaries(d *command.Deps) (all []summaryRow, err error) {
	if !s.All {
		return s.groupsInShort(d, "")
	}
	err = d.EachOutbox(func(name string, sub *command.Deps) error {
		its, err := s.groupsInShort(sub, name)
		all = append(all, its...)
		return err
	})
	return all, err
}

func (s *Status) groupsInShort(d *command.Deps, name string) (all []summaryRow, err error) {
	look, err := newLook(d)
	if err != nil {
		return nil, err
	}
	answers := look.standing()
	row := func(group string) summaryRow {
		r := summaryRow{Outbox: name, Group: group, at: look.stats}
		for _, a := range answers {
			if a.Group == group {
				r.Bad = true
				r.Why = append(r.Why, whyRow{a.Text, a.Do, runbookURL + runbooks[a.State]})
			}
		}
		return r
	}
	for _, g := range look.stats.Groups {
		if s.Group != "" && s.Group != g.Name {
			continue
		}
		r := row(g.Name)
		n, oldest := waits(g)
		r.Waiting, r.OldestSeconds = n, show.Seconds(oldest)
		all = append(all, r)
	}
	if s.Group != "" && len(all) == 0 {
		return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, s.Group)
	}
	if r := row(""); r.Bad && s.Group == "" { // an answer without a group
		all = append(all, r)
	}
	return all, nil
}

func printSummaries(d *command.Deps, all []summaryRow) error {
	if d.Format != show.Table {
		return show.List[summaryRow]{Name: "summary"}.Print(d.Printer, all, "")
	}
	if len(all) == 0 {
		return d.Line("No relay group has begun to read, and nothing waits.")
	}
	for i := range all {
		s := &all[i]
		if err := d.Paragraph("%s", s.line()); err != nil {
			return err
		}
		for _, why := range s.Why {
			if err := printWhy(d, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// printWhy prints a problem, as wrapped lines on a terminal.
func printWhy(d *command.Deps, why whyRow) error {
	const indent = "    "
	lines := []string{"  - " + show.Plain(why.Text), indent + "to do: " + show.Plain(why.Do)}
	if d.Width > 0 {
		lines = append(d.Wrap(show.Plain(why.Text), "  - ", indent), d.Wrap(show.Plain(why.Do), indent+"to do: ", indent+"       ")...)
	}
	return d.Lines(append(lines, indent+why.Runbook))
}

// line is a group in one line.
func (s *summaryRow) line() string {
	name := strings.Trim(s.Outbox+"/"+s.Group, "/")
	if name == "" {
		name = "outbox"
	}
	state := "ok"
	if s.Bad {
		state = "BAD"
	}
	parts := []string{waitFor(s.Waiting)}
	if s.Waiting > 0 {
		parts = append(parts, "the oldest for "+show.Duration(secondsOf(s.OldestSeconds)))
	}
	parts = append(parts, fmt.Sprintf("%.0f/s", s.Rate))
	switch {
	case s.Waiting == 0:
	case s.DrainSeconds == nil:
		parts = append(parts, "does not shrink")
	default:
		parts = append(parts, "sent in "+show.Duration(secondsOf(*s.DrainSeconds)))
	}
	return fmt.Sprintf("%s: %s: %s", state, show.Cell(name), strings.Join(parts, ", "))
}

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
