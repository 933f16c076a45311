package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Explain is the command explain.
type Explain struct {
	What  string         `arg:"" optional:"" help:"Id, key or topic. Defaults to all that stands still, in all outboxes of the file."`
	Since command.Moment `default:"24h" placeholder:"TIME" help:"Enqueued since this time or age; ids of version 7 contain it."`
}

// answerRow is the JSON of a reason why something is not sent, and of what to do about it.
type answerRow struct {
	Outbox string `json:"outbox,omitempty"`
	Group  string `json:"group,omitempty"`
	// About is the id, key or topic, if one was given.
	About string `json:"about,omitempty"`
	State string `json:"state"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
	// Waiting is how many messages wait for this reason, as far as they are counted.
	Waiting int64 `json:"waiting,omitempty"`

	rank rank
}

// rank is the severity of an answer, the worst first.
type rank int

const (
	nothingGoes rank = iota
	destinationOut
	operatorNeeded
	slowly
	isWell
)

// Run prints what is not sent and why, or what is known of one message, key or topic.
func (e *Explain) Run(d *command.Deps) error {
	answers, err := e.everywhere(d)
	if err != nil {
		return err
	}
	if e.What != "" && len(answers) == 0 {
		return fmt.Errorf("%w: %q is not an id, key or topic of which anything is known since %s (--since 7d looks further back)", command.ErrNothing, e.What, d.Time(e.Since.Time))
	}
	slices.SortStableFunc(answers, func(a, b answerRow) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.Waiting, a.Waiting))
	})
	if err := printAnswers(d, answers); err != nil {
		return err
	}
	if e.What == "" && len(answers) > 0 {
		return command.ErrFindings
	}
	return nil
}

// everywhere asks the named outbox, or each outbox of the file.
func (e *Explain) everywhere(d *command.Deps) (all []answerRow, err error) {
	if names := d.OutboxNames(); len(names) < 2 || OutboxAsked(d) {
		return e.answers(d)
	}
	err = d.EachOutbox(func(name string, sub *command.Deps) error {
		found, err := e.answers(sub)
		for i := range found {
			found[i].Outbox = name
		}
		all = append(all, found...)
		return err
	})
	return all, err
}

func (e *Explain) answers(d *command.Deps) ([]answerRow, error) {
	look, err := newLook(d)
	if err != nil {
		return nil, err
	}
	if e.What == "" {
		return look.standing(), nil
	}
	byID, err := look.id(e.What, e.Since)
	if err != nil || len(byID) > 0 {
		return byID, err
	}
	byTopic, err1 := look.topic(e.What)
	byKey, err2 := look.key(e.What, e.Since)
	return append(byTopic, byKey...), errors.Join(err1, err2)
}

func printAnswers(d *command.Deps, answers []answerRow) error {
	if d.Format != show.Table {
		return show.List[answerRow]{Name: "answers"}.Print(d.Printer, answers, "")
	}
	if len(answers) == 0 {
		return d.Line("Nothing stands still.")
	}
	for _, a := range answers {
		lines := d.Wrap(a.sentence(), "", "  ")
		if a.Do != "" {
			lines = append(lines, d.Wrap(show.Plain(a.Do), "  to do: ", "         ")...)
		}
		if err := d.Lines(lines); err != nil {
			return err
		}
	}
	return nil
}

// sentence is the answer, with the names of its outbox and group.
func (a answerRow) sentence() string {
	text := show.Plain(a.Text)
	if a.Group != "" {
		text = "group " + show.Cell(a.Group) + ": " + text
	}
	if a.About != "" {
		text = show.Cell(a.About) + ", " + text
	}
	if a.Outbox != "" {
		text = show.Cell(a.Outbox) + ": " + text
	}
	return text
}

// look is a snapshot of an outbox.
type look struct {
	d      *command.Deps
	store  admin.Outbox
	stats  admin.Stats
	groups []admin.Group
}

func newLook(d *command.Deps) (*look, error) {
	l := &look{d: d}
	var err error
	if l.store, err = d.Store(""); err != nil {
		return nil, err
	}
	if l.stats, err = l.store.Stats(d.Context); err != nil {
		return nil, err
	}
	l.groups, err = l.store.Groups(d.Context)
	return l, err
}

// group returns what is known of a group in addition to its figures.
func (l *look) group(name string) admin.Group {
	for _, g := range l.groups {
		if g.Name == name {
			return g
		}
	}
	return admin.Group{Name: name}
}

// standing returns an answer for everything that is not sent.
func (l *look) standing() (all []answerRow) {
	for _, g := range l.stats.Groups {
		all = append(all, l.reasons(g, "")...)
		if g.Parked > 0 {
			all = append(all, answerRow{
				Group: g.Name, State: "parked", rank: operatorNeeded, Waiting: int64(g.Parked),
				Text: command.About(g.Estimated) + show.Things(int64(g.Parked), "record") + " parked, and what follows them of their keys waits; " + l.parkedFor(g.Name, ""),
				Do:   "leat parked errors --group " + g.Name + ", see to the cause, then leat parked redrive --group " + g.Name + " --canary 1",
			})
		}
		all = append(all, l.behind(g)...)
	}
	if len(l.stats.Groups) == 0 && l.stats.LastSeq > 0 {
		all = append(all, answerRow{
			State: "no relay", rank: nothingGoes, Waiting: l.stats.LastSeq,
			Text: "nothing is sent: no relay group has begun to read", Do: "start a relay: leat run, or one in your services",
		})
	}
	return append(all, l.overdue()...)
}

// waits returns how many records wait in a group, and the age of the oldest.
func waits(g admin.GroupStats) (n int64, oldest time.Duration) {
	n, oldest = int64(g.Retrying), max(g.OldestRetried, g.OldestWaiting)
	for _, s := range g.Slots {
		n += s.Backlog
		oldest = max(oldest, s.Lag)
	}
	return n, oldest
}

// reasons returns why a group does not send what it could, limited to one topic unless that is "".
func (l *look) reasons(g admin.GroupStats, topic string) (all []answerRow) {
	add := func(r rank, state, text, do string, n int64) {
		all = append(all, answerRow{Group: g.Name, State: state, Text: text, Do: do, Waiting: n, rank: r})
	}
	n, oldest := waits(g)
	for _, s := range g.Slots {
		if s.Problem != "" {
			add(nothingGoes, "position", fmt.Sprintf("nothing of slot %d is sent: %s", s.Slot, s.Problem), "leat doctor --only outbox.positions says how to go on", n)
		}
	}
	known := l.group(g.Name)
	if known.Relays == 0 && n > 0 {
		add(nothingGoes, "no relay", fmt.Sprintf("nothing is sent: no relay lives; %s, the oldest for %s", waitFor(n), show.Duration(oldest)),
			"start its relays: leat run, or those in your services", n)
	}
	if paused := command.PausedBy(known.Paused, topic); len(paused) > 0 {
		add(operatorNeeded, "paused", fmt.Sprintf("paused by an operator: %q; %s", paused, waitFor(n)), "leat groups resume "+g.Name+" --reason …", n)
	}
	stopped := allStopped(g)
	for _, line := range command.OutageLines(g.Name, command.OutagesOf(g, topic)) {
		if stopped && line.First.Topic == "" {
			continue
		}
		do := "see to the destination: it goes on alone when it is back"
		if line.First.Cause == "unavailable" {
			do = "create what is missing, or grant it: it goes on alone"
		}
		if stopped {
			line.Unsent = n
		}
		add(destinationOut, "out", "not sent: "+line.Text(l.d.Now()), do, max(int64(line.Wait), line.Unsent))
	}
	return all
}

// allStopped reports whether a single outage keeps a group from sending anything, so that all waiting messages wait
// for it. Outages beyond the listed topics are left out, since they have no error of their own.
func allStopped(g admin.GroupStats) bool {
	lines := slices.DeleteFunc(command.OutageLines(g.Name, command.OutagesOf(g, "")), func(l command.OutageLine) bool { return l.First.Topic == "" })
	return len(lines) == 1 && lines[0].StopsAll()
}

func waitFor(n int64) string { return show.Things(n, "message") + " not sent" }

// behindFrom is the age above which waiting messages are reported although the group sends.
const behindFrom = time.Minute

// behind reports a group that sends but is late, unless another answer explains that.
func (l *look) behind(g admin.GroupStats) (all []answerRow) {
	if l.group(g.Name).Relays == 0 || len(l.group(g.Name).Paused) > 0 || allStopped(g) {
		return nil
	}
	for _, s := range g.Slots {
		if s.Problem == "" && s.Lag > behindFrom {
			all = append(all, answerRow{
				Group: g.Name, State: "behind", rank: slowly, Waiting: s.Backlog,
				Text: fmt.Sprintf("slot %d is %s behind: %s", s.Slot, show.Duration(s.Lag), waitFor(s.Backlog)),
				Do:   "leat status --summary tells whether it catches up; if not, look at the destination, and at the log of " + cmp.Or(s.Owner, "its relay"),
			})
		}
	}
	if len(g.Out) == 0 && g.OldestRetried > behindFrom {
		all = append(all, answerRow{
			Group: g.Name, State: "retried", rank: destinationOut, Waiting: int64(g.Retrying),
			Text: fmt.Sprintf("%s tried again, the oldest for %s", show.Things(int64(g.Retrying), "record"), show.Duration(g.OldestRetried)),
			Do:   "leat parked list --retrying --group " + g.Name,
		})
	}
	return all
}

// overdue reports delayed messages that are due but were not moved.
func (l *look) overdue() []answerRow {
	found, err := outboxChecks{store: l.store}.delayed(l.d.Context)
	if err != nil || len(found) == 0 {
		return nil // doctor reports checks that fail to run
	}
	return []answerRow{{State: "overdue", rank: nothingGoes, Text: found[0].Text, Do: found[0].Advice, Waiting: int64(l.stats.Delayed)}}
}

// parkedFor returns the error that most records have failed with.
func (l *look) parkedFor(group, topic string) string {
	failures, err := l.store.Failures(l.d.Context, admin.FailuresQuery{Group: group, Topic: topic, Limit: 1})
	if err != nil || len(failures) == 0 {
		return "nothing tells why"
	}
	f := failures[0]
	return fmt.Sprintf("most often (%d, topic %s, the last %s): %s", f.Records, f.Topic, l.d.Time(f.Last), command.Bare(f.Example))
}

// OutboxAsked reports whether a flag or a variable names an outbox.
func OutboxAsked(d *command.Deps) bool {
	value, _ := d.Process.LookupEnv("LEAT_OUTBOX")
	return d.Globals.Outbox != "" || value != ""
}
