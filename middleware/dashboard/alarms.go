package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// alarm is something that an operator should look at.
type alarm struct {
	// Severity is fail for alarms that page an operator, warn for those that can wait until
	// morning, or note.
	Severity string `json:"severity"`
	Store    string `json:"store"`
	Group    string `json:"group,omitempty"`
	// Title states the problem, and Text its cause and consequences.
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Since time.Time `json:"since,omitzero"`
	// Runbook is the address of the runbook.
	Runbook string `json:"runbook,omitempty"`

	page  string
	inbox bool
}

const (
	severityPage   = "fail"
	severityTicket = "warn"
	severityNote   = "note"
)

// Tone returns the CSS class of an alarm.
func (a alarm) Tone() string {
	return map[string]string{severityPage: "bad", severityTicket: "warn"}[a.Severity]
}

// Word returns the name of the severity in the runbooks.
func (a alarm) Word() string {
	return map[string]string{severityPage: "Page", severityTicket: "Ticket", severityNote: "Note"}[a.Severity]
}

// Page returns the page with more details.
func (a alarm) Page() string { return a.page }

// OfInbox reports whether Store is an inbox.
func (a alarm) OfInbox() bool { return a.inbox }

// runbook returns the address of the runbook for an alert.
func runbook(alert string) string {
	return "https://github.com/leat-go/leat/blob/main/docs/operations.md#" + strings.ToLower(alert)
}

// lateAfter is the lag from which a group is late: the objective of the alerts.
const lateAfter = 10 * time.Second

// alarms returns the current problems, by the figures only, the worst first.
func alarms(st status) (all []alarm) {
	for _, o := range st.Outboxes {
		for _, a := range o.alarms(st.At) {
			a.Store = o.Name
			all = append(all, a)
		}
	}
	for _, i := range st.Inboxes {
		for _, a := range i.alarms() {
			a.Store, a.page, a.inbox = i.Name, "inboxes", true
			all = append(all, a)
		}
	}
	rank := []string{severityPage, severityTicket, severityNote}
	slices.SortStableFunc(all, func(a, b alarm) int {
		if d := slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity); d != 0 {
			return d
		}
		if a.Since.IsZero() || b.Since.IsZero() {
			return 0
		}
		return a.Since.Compare(b.Since)
	})
	return all
}

func (i inboxStatus) alarms() (all []alarm) {
	if i.Failed {
		all = append(all, alarm{
			Severity: severityPage, Title: "Inbox " + i.Name + " does not answer", Text: "Its database does not answer: what is shown is old.",
			Since: i.At, Runbook: runbook("LeatSamplesFail"),
		})
	}
	if i.Parked > 0 {
		all = append(all, alarm{
			Severity: severityTicket, Title: count(i.Parked, "message", "messages") + " of inbox " + i.Name + " wait for an operator",
			Text:  i.behind(),
			Since: i.OldestParked, Runbook: runbook("LeatInboxParked"),
		})
	}
	return all
}

// behind describes the messages that wait behind parked ones.
func (i inboxStatus) behind() string {
	text := "Their consumers go on without them."
	if i.Waiting > 0 {
		text = count(i.Waiting, "more waits", "more wait") + " behind them."
	}
	if i.Failing > 0 {
		text += " " + count(i.Failing, "other is", "others are") + " tried again."
	}
	return text
}

func (o outboxStatus) alarms(now time.Time) (all []alarm) {
	add := func(a alarm) { all = append(all, a) }
	if o.Failed {
		add(alarm{
			Severity: severityPage, Title: "Outbox " + o.Name + " does not answer", Text: "Its database does not answer: what is shown is old.",
			Since: o.At, Runbook: runbook("LeatSamplesFail"), page: "overview",
		})
	}
	switch {
	case o.Ahead != nil && o.Maintainer == "":
		add(alarm{
			Severity: severityTicket, Title: "Nobody maintains " + o.Name, Runbook: runbook("LeatMaintenanceSilent"), page: "retention",
			Text: "Its log is not trimmed, and delayed messages do not move, until a process runs its maintenance.",
		})
	case o.Ahead != nil && *o.Ahead == 0:
		add(alarm{
			Severity: severityTicket, Title: "No range of the log of " + o.Name + " is ahead", Runbook: runbook("LeatNoRangeAhead"), page: "retention",
			Text: "Its maintenance makes the next one: look whether it does.",
		})
	}
	if len(o.Groups) == 0 && !o.Failed {
		add(alarm{
			Severity: severityTicket, Title: "Nobody works on " + o.Name, Runbook: runbook("LeatNoLeader"), page: "groups",
			Text: "Messages can be enqueued. Nothing sends them until a relay runs.",
		})
	}
	for _, g := range o.Groups {
		for _, a := range g.alarms(place{o.Name, g.Name}.String(), now) {
			a.Group = g.Name
			add(a)
		}
	}
	return all
}

func (g groupStatus) alarms(name string, now time.Time) (all []alarm) {
	add := func(severity, alert, page, title, text string, age float64) {
		a := alarm{Severity: severity, Title: title, Text: text, page: page}
		if alert != "" {
			a.Runbook = runbook(alert)
		}
		if age > 0 {
			a.Since = now.Add(-time.Duration(age * float64(time.Second)))
		}
		all = append(all, a)
	}
	for _, s := range g.Slots {
		if s.Problem != "" {
			add(severityPage, "LeatPositionUnusable", "groups", fmt.Sprintf("The position of %s cannot be used", name), fmt.Sprintf("Slot %d: %s.", s.Slot, s.Problem), 0)
		}
	}
	if len(g.Policies) > 1 {
		add(severityNote, "", "groups", "Relays of "+name+" have different policies", "The one that loses less counts: "+strings.Join(g.Policies, "; ")+".", 0)
	}
	if title, text, severity := g.leaderless(name); title != "" {
		add(severity, "LeatNoLeader", "groups", title, text, g.Lag)
	}
	for _, out := range outages(g.Out) {
		title, text := out.told(name)
		a := alarm{Severity: severityPage, Title: title, Text: text, Since: out.since, Runbook: runbook("LeatBreakerOpen"), page: "retried"}
		all = append(all, a)
	}
	switch {
	case len(g.Paused) > 0:
		what := strings.Join(g.Paused, ", ")
		if what == "*" {
			what = "everything"
		}
		add(severityNote, "", "groups", name+" is paused", fmt.Sprintf("Paused: %s. %s.", what, count(g.Backlog, "message waits", "messages wait")), 0)
	case g.Late() && g.alone() == 0 && len(g.Out) == 0:
		add(severityPage, "LeatStale", "groups", name+" is late", g.late(), g.Oldest())
	}
	if g.Retrying > 0 && len(g.Out) == 0 {
		add(severityTicket, "LeatRetrying", "retried", count(g.Retrying, "record", "records")+" of "+name+" are tried again",
			"The oldest has waited for "+duration(g.OldestRetried)+".", g.OldestRetried)
	}
	if g.Parked > 0 {
		text := "Nothing waits behind: other keys go on."
		if behind := g.Held - g.Parked - g.Retrying; behind > 0 {
			text = count(behind, "record of their keys waits", "records of their keys wait") + " behind them."
		}
		add(severityTicket, "LeatParked", "parked", count(g.Parked, "record", "records")+" of "+name+" are parked", "They wait for an operator. "+text, 0)
	}
	return all
}

// alone returns the number of slots without a leader.
func (g groupStatus) alone() (n int) {
	for _, s := range g.Slots {
		if s.LeaseLeft == 0 {
			n++
		}
	}
	return n
}

// leaderless describes the slots of the group without a leader, with the severity. The title is
// empty if all have a leader.
func (g groupStatus) leaderless(name string) (title, text, severity string) {
	alone := g.alone()
	switch {
	case len(g.Slots) == 0:
		return "No relay has begun for " + name, "Nothing is sent for this group until one runs.", severityTicket
	case alone == 0:
		return "", "", ""
	case alone < len(g.Slots):
		title = fmt.Sprintf("Nobody leads %d of %d slots of %s", alone, len(g.Slots), name)
	default:
		title = "Nobody leads " + name
	}
	if g.Backlog == 0 {
		return title, "Nothing waits yet. What is enqueued is not sent until a relay runs.", severityTicket
	}
	return title, count(g.Backlog, "message waits", "messages wait") + ".", severityPage
}

// late describes where the oldest message waits.
func (g groupStatus) late() string {
	where := "in the log"
	switch g.Oldest() {
	case g.OldestRetried:
		where = "to be tried again"
	case g.OldestWaiting:
		where = "behind another one of its key"
	}
	return fmt.Sprintf("The oldest message waits %s for %s.", where, duration(g.Oldest()))
}

// outage is a set of destinations of a group that are out for the same reason.
type outage struct {
	cause, text string
	since       time.Time
	topics      []string
	more        int // number of topics that the relay has not listed
	waiting     int
}

// moreOut is how many topics a row without a topic stands for: a relay lists a bounded number, and counts
// the others.
func moreOut(row outageRow) (n int) {
	if row.Topic == "" {
		_, _ = fmt.Sscanf(row.Error, "%d more topics are out", &n)
	}
	return n
}

// errorAlone is the error without the topic, of which sinks name the first 200 characters.
func (o outageRow) errorAlone() string {
	text := strings.ReplaceAll(o.Error, o.Topic, "")
	return strings.ReplaceAll(text, fmt.Sprintf("%.200s", o.Topic), "")
}

// outages groups destinations by the reason of their outage: a broker that does not answer
// affects all of its topics.
func outages(rows []outageRow) (all []outage) {
	unlisted := 0
	for _, row := range rows {
		if n := moreOut(row); n > 0 {
			unlisted += n
			continue
		}
		kind := admin.Fingerprint(row.errorAlone())
		i := slices.IndexFunc(all, func(o outage) bool {
			return o.cause == row.Cause && (row.Cause == "outage" || admin.Fingerprint(o.text) == kind)
		})
		if i < 0 {
			all = append(all, outage{cause: row.Cause, text: row.errorAlone(), since: row.Since})
			i = len(all) - 1
		}
		o := &all[i]
		o.topics = append(o.topics, row.Topic)
		o.waiting += row.Waiting
		if row.Since.Before(o.since) {
			o.since = row.Since
		}
	}
	for i := range all {
		if i == 0 {
			all[i].more = unlisted
		}
		for _, row := range rows {
			if row.Topic == all[i].topics[0] {
				all[i].text = row.Error
			}
		}
	}
	return all
}

// told returns the title and the text of an outage.
func (o outage) told(name string) (title, text string) {
	topics := count(len(o.topics)+o.more, "topic", "topics")
	switch o.cause {
	case "outage":
		title = fmt.Sprintf("The destination of %s does not answer: %s", name, topics)
	case "unavailable":
		title = fmt.Sprintf("The destination of %s does not take %s", name, topics)
	default:
		title = fmt.Sprintf("Records of %s fail in %s", topics, name)
	}
	named := o.topics[:min(3, len(o.topics))]
	text = strings.Join(named, ", ")
	if more := len(o.topics) - len(named) + o.more; more > 0 {
		text += " and " + grouped(more) + " more"
	}
	if o.waiting > 0 {
		text += ": " + count(o.waiting, "record is tried again", "records are tried again")
	}
	text += "."
	if o.text != "" {
		text += " " + o.text
	}
	return title, text
}
