package cli

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

// outageRow is the JSON of a destination that is out.
type outageRow struct {
	Topic   string    `json:"topic"`
	Cause   string    `json:"cause"`
	Since   time.Time `json:"since"`
	Waiting int       `json:"waiting"`
	Error   string    `json:"error"`
}

func newOutageRow(o driver.Outage) outageRow {
	return outageRow{o.Topic, o.Cause, utc(o.Since), o.Waiting, o.Error}
}

// sign is what errors of one reason have in common, whatever the topic.
func (o outageRow) sign() string {
	return admin.Fingerprint(strings.ReplaceAll(o.Error, strconv.Quote(o.Topic), "topic"))
}

// outageLine is what is out of a group for one reason.
type outageLine struct {
	group  string
	topics []string
	since  time.Time
	first  outageRow
	wait   int
}

// outageLines puts together what is out of a group for one reason: a broker that does not
// answer is one line, however many topics it has.
func outageLines(group string, all []outageRow) (lines []outageLine) {
	for _, o := range all {
		i := slices.IndexFunc(lines, func(l outageLine) bool {
			return o.Topic != "" && l.first.Cause == o.Cause && l.first.sign() == o.sign()
		})
		if i < 0 {
			lines = append(lines, outageLine{group, nil, o.Since, o, 0})
			i = len(lines) - 1
		}
		l := &lines[i]
		l.topics = append(l.topics, o.Topic)
		l.wait += o.Waiting
		if o.Since.Before(l.since) {
			l.since = o.Since
		}
	}
	return lines
}

// what names what is out.
func (l outageLine) what() string {
	switch {
	case l.first.Topic == "":
		return "others"
	case len(l.topics) == 1:
		return "topic " + l.first.Topic
	default:
		return fmt.Sprintf("%d topics, %s and others", len(l.topics), l.first.Topic)
	}
}

// text is a sentence about it.
func (l outageLine) text(now time.Time) string {
	if (driver.Outage{Error: l.first.Error}).Whole() {
		return fmt.Sprintf("%s (since %s; %s, %s tried again)", l.first.Error, show.Duration(now.Sub(l.since)),
			show.Things(int64(len(l.topics)), "topic"), show.Things(int64(l.wait), "record"))
	}
	text := fmt.Sprintf("%s %s since %s, %s", l.what(), causes(l.first.Cause, len(l.topics)), show.Duration(now.Sub(l.since)), show.Things(int64(l.wait), "record")+" tried again")
	return text + ": " + cmp.Or(l.first.Error, "no error is known")
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

func outageList() show.List[outageLine] {
	return show.List[outageLine]{Columns: []show.Column[outageLine]{
		textColumn("OUT", func(l outageLine) string { return l.group }),
		textColumn("WHAT", outageLine.what),
		timeColumn("SINCE", func(l outageLine) time.Time { return l.since }),
		countColumn("RETRY", func(l outageLine) int64 { return int64(l.wait) }),
		textColumn("CAUSE", func(l outageLine) string { return l.first.Cause }),
		textColumn("ERROR", func(l outageLine) string { return l.first.Error }),
	}}
}
