package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
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
	return OutageRow{o.Topic, o.Cause, UTC(o.Since), o.Waiting, o.Error}
}

// sign is what errors of one reason have in common, whatever the topic.
func (o OutageRow) sign() string {
	return admin.Fingerprint(strings.ReplaceAll(o.Error, strconv.Quote(o.Topic), "topic"))
}

// OutageLine is what is out of a group for one reason.
type OutageLine struct {
	group  string
	topics []string
	since  time.Time
	First  OutageRow
	Wait   int
}

// OutageLines puts together what is out of a group for one reason: a broker that does not
// answer is one line, however many topics it has.
func OutageLines(group string, all []OutageRow) (lines []OutageLine) {
	for _, o := range all {
		i := slices.IndexFunc(lines, func(l OutageLine) bool {
			return o.Topic != "" && l.First.Cause == o.Cause && l.First.sign() == o.sign()
		})
		if i < 0 {
			lines = append(lines, OutageLine{group, nil, o.Since, o, 0})
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

// what names what is out.
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

// Text is a sentence about it.
func (l OutageLine) Text(now time.Time) string {
	if (driver.Outage{Error: l.First.Error}).Whole() {
		return fmt.Sprintf("%s (since %s; %s, %s tried again)", l.First.Error, show.Duration(now.Sub(l.since)),
			show.Things(int64(len(l.topics)), "topic"), show.Things(int64(l.Wait), "record"))
	}
	text := fmt.Sprintf("%s %s since %s, %s", l.what(), causes(l.First.Cause, len(l.topics)), show.Duration(now.Sub(l.since)), show.Things(int64(l.Wait), "record")+" tried again")
	return text + ": " + cmp.Or(l.First.Error, "no error is known")
}

// causes says what a cause of driver.Outage means.
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
		TextColumn("ERROR", func(l OutageLine) string { return l.First.Error }),
	}}
}
