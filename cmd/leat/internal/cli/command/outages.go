package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// OutageRow is the JSON of a destination that is out.
type OutageRow struct {
	Topic   string    `json:"topic"`
	Cause   string    `json:"cause"`
	Since   time.Time `json:"since"`
	Waiting int       `json:"waiting"`
	Error   string    `json:"error"`
}

// NewOutageRow returns the row of a destination that is out.
func NewOutageRow(o driver.Outage) OutageRow {
	return OutageRow{o.Topic, o.Cause, UTC(o.Since), o.Waiting, settings.InFile(o.Error)}
}

// sign is the error without its topic, so that errors of one reason are equal.
func (o OutageRow) sign() string {
	quoted := strings.NewReplacer(strconv.Quote(o.Topic), "topic", fmt.Sprintf("%.200q", o.Topic), "topic") // sinks quote up to this many bytes of it
	return admin.Fingerprint(quoted.Replace(o.Error))
}

// OutageLine sums up the outages of a group for one reason.
type OutageLine struct {
	group  string
	topics []string
	since  time.Time
	First  OutageRow
	Wait   int
	// Unsent is the number of messages that wait for it, if the caller knows it.
	Unsent int64
}

// OutageLines groups the outages of a group by reason: a broker that does not answer is one line, whatever
// its number of topics.
func OutageLines(group string, all []OutageRow) (lines []OutageLine) {
	for _, o := range all {
		i := slices.IndexFunc(lines, func(l OutageLine) bool {
			return o.Topic != "" && l.First.Cause == o.Cause && l.First.sign() == o.sign()
		})
		if i < 0 {
			lines = append(lines, OutageLine{group: group, since: o.Since, First: o})
			i = len(lines) - 1
		}
		l := &lines[i]
		l.topics = append(l.topics, o.Topic)
		l.Wait += o.Waiting
		if o.Since.Before(l.since) {
			l.since = o.Since
		}
	}
	return lines
}

// what describes what is out.
func (l OutageLine) what() string {
	switch {
	case l.First.Topic == "":
		return "others"
	case len(l.topics) == 1:
		return "topic " + l.First.Topic
	default:
		return fmt.Sprintf("%d topics, %s and others", len(l.topics), l.First.Topic)
	}
}

// StopsAll reports whether the outage keeps a group from sending anything, because the destination as a
// whole is out. The outage of one endpoint of webhooks does not.
func (l OutageLine) StopsAll() bool {
	return l.whole() && !strings.HasPrefix(l.First.Error, "endpoint ")
}

func (l OutageLine) whole() bool { return driver.Outage{Error: l.First.Error}.Whole() }

// Text describes the outage in a sentence.
func (l OutageLine) Text(now time.Time) string {
	waits := ""
	if l.Unsent > 0 {
		waits = ", " + show.Things(l.Unsent, "message") + " not sent"
	} else if l.Wait > 0 {
		waits = ", " + show.Things(int64(l.Wait), "record") + " tried again"
	}
	since := show.Duration(now.Sub(l.since))
	if l.First.Topic == "" { // the text counts them
		return fmt.Sprintf("%s since %s%s", l.First.Error, since, waits)
	}
	if l.whole() {
		return fmt.Sprintf("%s (since %s; %s%s)", l.First.Error, since, show.Things(int64(len(l.topics)), "topic"), waits)
	}
	return fmt.Sprintf("%s %s since %s%s: %s", l.what(), causes(l.First.Cause, len(l.topics)), since, waits, cmp.Or(l.First.Error, "no error is known"))
}

// causes describes a cause of driver.Outage.
func causes(cause string, n int) string {
	verb := func(one, more string) string {
		if n == 1 {
			return one
		}
		return more
	}
	switch cause {
	case "unavailable":
		return verb("is", "are") + " not taken by the destination"
	case "suspect":
		return verb("fails", "fail") + " for reasons that nobody knows"
	default:
		return verb("is", "are") + " out"
	}
}

// OutageList returns the list of destinations that are out.
func OutageList() show.List[OutageLine] {
	return show.List[OutageLine]{Columns: []show.Column[OutageLine]{
		TextColumn("OUT", func(l OutageLine) string { return l.group }),
		TextColumn("WHAT", OutageLine.what),
		TimeColumn("SINCE", func(l OutageLine) time.Time { return l.since }),
		CountColumn("RETRY", func(l OutageLine) int64 { return int64(l.Wait) }),
		TextColumn("CAUSE", func(l OutageLine) string { return l.First.Cause }),
		SentenceColumn("ERROR", func(l OutageLine) string { return l.First.Error }),
	}}
}

// OutagesOf are the outages of a group, or only those that affect a topic unless it is "".
func OutagesOf(g admin.GroupStats, topic string) (all []OutageRow) {
	for _, o := range g.Out {
		if topic == "" || o.Topic == topic || o.Topic == "" && len(g.Out) == 1 {
			all = append(all, NewOutageRow(o))
		}
	}
	return all
}

// PausedBy are the patterns of a pause that match a topic, or all of them if it is "".
func PausedBy(paused []string, topic string) []string {
	if topic == "" {
		return paused
	}
	return slices.DeleteFunc(slices.Clone(paused), func(pattern string) bool { return !topics.Match(pattern, topic) })
}

// KeptFrom returns why a group does not try records of a topic now, or "" if no reason is known. never is set if
// that lasts until an operator acts.
func KeptFrom(d *Deps, store admin.Outbox, group, topic string) (why string, never bool, err error) {
	stats, err := store.Stats(d.Context)
	if err != nil {
		return "", false, err
	}
	groups, err := store.Groups(d.Context)
	if err != nil {
		return "", false, err
	}
	for _, g := range groups {
		switch {
		case g.Name != group:
		case g.Relays == 0:
			return "no relay of group " + group + " lives: start its relays, leat run or those in your services", true, nil
		case len(PausedBy(g.Paused, topic)) > 0:
			return fmt.Sprintf("group %s is paused by an operator, %q: leat groups resume %s --reason …", group, PausedBy(g.Paused, topic), group), true, nil
		}
	}
	for _, g := range stats.Groups {
		if g.Name != group {
			continue
		}
		for _, line := range OutageLines(group, OutagesOf(g, topic)) {
			return line.Text(d.Now()), false, nil
		}
	}
	return "", false, nil
}
