package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// status is how all stores are.
type status struct {
	V        int            `json:"v"`
	At       time.Time      `json:"at"`
	Outboxes []outboxStatus `json:"outboxes"`
	Inboxes  []inboxStatus  `json:"inboxes"`
	Alarms   []alarm        `json:"alarms"`
}

// outboxStatus is how an outbox is. If Failed is set, the figures are those of At.
type outboxStatus struct {
	Name       string        `json:"name"`
	At         time.Time     `json:"at,omitzero"`
	Failed     bool          `json:"failed"`
	LastSeq    int64         `json:"last_seq"`
	Rate       float64       `json:"enqueued_per_second"`
	LogBytes   int64         `json:"log_bytes"`
	LogRows    int64         `json:"log_rows"`
	Delayed    int           `json:"delayed"`
	DelayedEst bool          `json:"delayed_estimated,omitempty"`
	Maintainer string        `json:"maintainer"`
	Ahead      *int          `json:"ranges_ahead,omitempty"`
	Groups     []groupStatus `json:"groups"`
}

// groupStatus is how a relay group is: Lag and Backlog are those of its slots, the greatest
// and the sum.
type groupStatus struct {
	Name          string       `json:"name"`
	Paused        []string     `json:"paused,omitempty"`
	MaxLag        float64      `json:"max_lag_seconds,omitempty"`
	Relays        int          `json:"relays"`
	Held          int          `json:"held"`
	Retrying      int          `json:"retrying"`
	Parked        int          `json:"parked"`
	Dead          int          `json:"dead"`
	Estimated     bool         `json:"estimated,omitempty"`
	OldestRetried float64      `json:"oldest_retried_seconds,omitempty"`
	OldestWaiting float64      `json:"oldest_waiting_seconds,omitempty"`
	Out           []outageRow  `json:"out,omitempty"`
	Lag           float64      `json:"lag_seconds"`
	Backlog       int64        `json:"backlog"`
	Settled       float64      `json:"settled_per_second"`
	Slots         []slotStatus `json:"slots"`
}

type slotStatus struct {
	Slot      int     `json:"slot"`
	Leader    string  `json:"leader"`
	Epoch     int64   `json:"epoch"`
	LeaseLeft float64 `json:"lease_left_seconds"`
	Window    int64   `json:"window,omitempty"`
	WindowAge float64 `json:"window_age_seconds,omitempty"`
	Problem   string  `json:"problem,omitempty"`
	Backlog   int64   `json:"backlog"`
	Lag       float64 `json:"lag_seconds"`
}

// outageRow is a destination that is out.
type outageRow struct {
	Topic   string    `json:"topic"`
	Cause   string    `json:"cause"`
	Since   time.Time `json:"since"`
	Waiting int       `json:"waiting"`
	Error   string    `json:"error"`
}

// inboxStatus is how an inbox is. If Failed is set, the figures are those of At.
type inboxStatus struct {
	Name         string    `json:"name"`
	At           time.Time `json:"at,omitzero"`
	Failed       bool      `json:"failed"`
	Consumers    int64     `json:"consumers"`
	Parked       int64     `json:"parked"`
	Redriving    int64     `json:"redriving"`
	Waiting      int64     `json:"waiting"`
	Failing      int64     `json:"failing"`
	Estimated    bool      `json:"estimated,omitempty"`
	OldestParked time.Time `json:"oldest_parked,omitzero"`
	Bytes        int64     `json:"bytes"`
}

// status answers for the API and the overview.
func (c *call) status() (status, error) {
	if err := c.q.done(); err != nil {
		return status{}, err
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return status{}, err
	}
	return c.d.status(s), nil
}

func (d *Dashboard) status(s sample) status {
	st := status{V: 1, At: s.at.UTC(), Outboxes: []outboxStatus{}, Inboxes: []inboxStatus{}, Alarms: []alarm{}}
	past := d.sampler.past()
	for _, name := range slices.Sorted(maps.Keys(s.outboxes)) {
		o := outboxOf(name, s.outboxes[name])
		o.rates(name, past, s)
		st.Outboxes = append(st.Outboxes, o)
	}
	for _, name := range slices.Sorted(maps.Keys(s.inboxes)) {
		i := s.inboxes[name]
		st.Inboxes = append(st.Inboxes, inboxStatus{
			Name: name, At: i.at.UTC(), Failed: i.failed != nil, Consumers: i.stats.Consumers, Parked: i.stats.Parked, Redriving: i.stats.Redriving,
			Waiting: i.stats.Waiting, Failing: i.stats.Failing, Estimated: i.stats.Estimated, OldestParked: i.stats.OldestParked, Bytes: i.stats.Bytes,
		})
	}
	st.Alarms = append(st.Alarms, alarms(st)...)
	return st
}

// groupAt is a group and where it is.
type groupAt struct {
	place
	groupStatus
}

// within are the groups in a scope.
func (st status) within(scope place) (all []groupAt) {
	for _, o := range st.Outboxes {
		for _, g := range o.Groups {
			if at := (place{o.Name, g.Name}); at.within(scope) {
				all = append(all, groupAt{at, g})
			}
		}
	}
	return all
}

// in is what st says of a scope. Inboxes are in all of them.
func (st status) in(scope place) status {
	if scope == (place{}) {
		return st
	}
	part := status{V: st.V, At: st.At, Inboxes: st.Inboxes, Outboxes: []outboxStatus{}, Alarms: []alarm{}}
	for _, o := range st.Outboxes {
		if !(place{Outbox: o.Name}).within(place{Outbox: scope.Outbox}) {
			continue
		}
		groups := o.Groups
		o.Groups = []groupStatus{}
		for _, g := range groups {
			if scope.Group == "" || scope.Group == g.Name {
				o.Groups = append(o.Groups, g)
			}
		}
		part.Outboxes = append(part.Outboxes, o)
	}
	for _, a := range st.Alarms {
		if !a.inbox && a.Store == scope.Outbox && (scope.Group == "" || a.Group == "" || a.Group == scope.Group) {
			part.Alarms = append(part.Alarms, a)
		}
	}
	return part
}

// Moves reports whether anything is enqueued, sent, or waits.
func (o outboxStatus) Moves() bool {
	return o.Rate > 0 || slices.ContainsFunc(o.Groups, func(g groupStatus) bool { return g.Backlog > 0 || g.Settled > 0 })
}

// Oldest is the age of the oldest message that is not sent, wherever it waits, in seconds.
func (g groupStatus) Oldest() float64 { return max(g.Lag, g.OldestRetried, g.OldestWaiting) }

// Late reports whether that is more than the objective of the alerts.
func (g groupStatus) Late() bool { return g.Oldest() > lateAfter.Seconds() }

// State is how a group is, in a word and the tone that goes with it.
func (g groupStatus) State() (word, tone string) {
	led := 0
	for _, s := range g.Slots {
		if s.Problem != "" {
			return "position unusable", "bad"
		}
		if s.LeaseLeft > 0 {
			led++
		}
	}
	switch {
	case led < len(g.Slots) && g.Backlog > 0:
		return "nobody leads", "bad"
	case len(g.Paused) > 0 && g.Paused[0] == "*":
		return "paused", "quiet"
	case len(g.Out) > 0:
		return "destination out", "bad"
	case led < len(g.Slots) || led == 0:
		return "nobody leads", "warn"
	case g.Retrying > 0:
		return "retrying", "warn"
	case g.Late():
		return "late", "warn"
	case len(g.Paused) > 0:
		return "paused in part", "quiet"
	case g.Backlog > 0 || g.Settled > 0:
		return "working", "good"
	default:
		return "idle", "good"
	}
}

// Word and Tone are the parts of State, for templates.
func (g groupStatus) Word() string { word, _ := g.State(); return word }

// Tone is the tone of State.
func (g groupStatus) Tone() string { _, tone := g.State(); return tone }

// alarm is something that an operator should look at.
type alarm struct {
	// Severity is fail for what wakes somebody, warn for what waits for the morning, or note.
	Severity string `json:"severity"`
	Store    string `json:"store"`
	Group    string `json:"group,omitempty"`
	// Title says what is wrong, Text why and what follows.
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Since time.Time `json:"since,omitzero"`
	// Runbook is the address of what to do.
	Runbook string `json:"runbook,omitempty"`

	page  string
	inbox bool
}

const (
	severityPage   = "fail"
	severityTicket = "warn"
	severityNote   = "note"
)

// Tone is how an alarm looks, Word what its severity is called.
func (a alarm) Tone() string {
	return map[string]string{severityPage: "bad", severityTicket: "warn"}[a.Severity]
}

// Word is what the severity is called in the runbooks.
func (a alarm) Word() string {
	return map[string]string{severityPage: "Page", severityTicket: "Ticket", severityNote: "Note"}[a.Severity]
}

// Page is the page with more about it.
func (a alarm) Page() string { return a.page }

// OfInbox reports whether Store is an inbox.
func (a alarm) OfInbox() bool { return a.inbox }

// runbook is the address of what to do about an alert.
func runbook(alert string) string {
	return "https://github.com/leat-go/leat/blob/main/docs/operations.md#" + strings.ToLower(alert)
}

// lateAfter is the lag from which a group is late: the objective of the alerts.
const lateAfter = 10 * time.Second

// alarms are what is wrong now, by the figures alone, the worst first.
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

// behind says what waits for what is parked.
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
	alone, led := 0, 0
	for _, s := range g.Slots {
		if s.Problem != "" {
			add(severityPage, "LeatPositionUnusable", "groups", fmt.Sprintf("The position of %s cannot be used", name), fmt.Sprintf("Slot %d: %s.", s.Slot, s.Problem), 0)
		}
		if s.LeaseLeft == 0 {
			alone++
		} else {
			led++
		}
	}
	switch {
	case len(g.Slots) == 0:
		add(severityTicket, "LeatNoLeader", "groups", "No relay has begun for "+name, "Nothing is sent for this group until one runs.", 0)
	case alone > 0:
		title := "Nobody leads " + name
		if led > 0 {
			title = fmt.Sprintf("Nobody leads %d of %d slots of %s", alone, len(g.Slots), name)
		}
		severity, text := severityPage, count(g.Backlog, "message waits", "messages wait")+"."
		if g.Backlog == 0 {
			severity, text = severityTicket, "Nothing waits yet. What is enqueued is not sent until a relay runs."
		}
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
	case g.Late() && alone == 0 && len(g.Out) == 0:
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

// late says where the oldest message waits.
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

// outage is destinations of a group that are out for the same reason.
type outage struct {
	cause, text string
	since       time.Time
	topics      []string
	waiting     int
}

// outages groups destinations by why they are out: one that does not answer takes all of its topics along.
func outages(rows []outageRow) (all []outage) {
	for _, row := range rows {
		print := admin.Fingerprint(strings.ReplaceAll(row.Error, row.Topic, ""))
		i := slices.IndexFunc(all, func(o outage) bool {
			return o.cause == row.Cause && (row.Cause == "outage" || admin.Fingerprint(o.text) == print)
		})
		if i < 0 {
			all = append(all, outage{cause: row.Cause, text: strings.ReplaceAll(row.Error, row.Topic, ""), since: row.Since})
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
		for _, row := range rows {
			if row.Topic == all[i].topics[0] {
				all[i].text = row.Error
			}
		}
	}
	return all
}

// told is what an outage is called, and what is known of it.
func (o outage) told(name string) (title, text string) {
	topics := count(len(o.topics), "topic", "topics")
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
	if more := len(o.topics) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
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

// spark is the backlog of a group over the last half hour, as a line.
type spark struct {
	// Line are the points of the line, Area those of what is below it. Flat is set if nothing moved.
	Line, Area string
	Flat       bool
	// Text says what the line shows.
	Text string
}

const (
	sparkWidth, sparkHeight = 96, 20
	// mostPoints is how many points a line has, leastScale the backlog that fills its height at least.
	mostPoints, leastScale = 24, 250
)

// sparks are those of all groups.
func sparks(past []sample) map[place]spark {
	all := map[place][]int64{}
	if len(past) > mostPoints {
		thin := make([]sample, mostPoints)
		for i := range thin {
			thin[i] = past[(i+1)*len(past)/mostPoints-1]
		}
		past = thin
	}
	for _, s := range past {
		for name, o := range s.outboxes {
			for _, g := range o.stats.Groups {
				at, n := place{name, g.Name}, int64(0)
				for _, slot := range g.Slots {
					n += slot.Backlog
				}
				all[at] = append(all[at], n)
			}
		}
	}
	lines := map[place]spark{}
	for at, values := range all {
		lines[at] = sparkOf(values)
	}
	return lines
}

func sparkOf(values []int64) spark {
	least, most := slices.Min(values), slices.Max(values)
	if least == most {
		return spark{Line: "0,18 96,18", Flat: true, Text: "Backlog of the last 30 minutes: " + grouped(most)}
	}
	var line strings.Builder
	for i, v := range values {
		if i > 0 {
			line.WriteByte(' ')
		}
		x := float64(sparkWidth) * float64(i) / float64(len(values)-1)
		y := float64(sparkHeight) - 1.5 - float64(sparkHeight-3)*float64(v)/float64(max(most, leastScale))
		fmt.Fprintf(&line, "%.4g,%.3g", x, y)
	}
	return spark{
		Line: line.String(), Area: fmt.Sprintf("0,%d %s %d,%[1]d", sparkHeight, line.String(), sparkWidth),
		Text: fmt.Sprintf("Backlog of the last 30 minutes: between %s and %s", grouped(least), grouped(most)),
	}
}

func outboxOf(name string, s outboxSample) outboxStatus {
	o := outboxStatus{
		Name: name, At: s.at.UTC(), Failed: s.failed != nil, LastSeq: s.stats.LastSeq, LogBytes: s.stats.Bytes, LogRows: s.stats.Rows,
		Delayed: s.stats.Delayed, DelayedEst: s.stats.DelayedEstimated, Maintainer: s.stats.Maintainer, Groups: []groupStatus{},
	}
	if s.stats.Ranges > 0 {
		o.Ahead = &s.stats.RangesAhead
	}
	for _, g := range s.stats.Groups {
		o.Groups = append(o.Groups, groupOf(g, s.groups))
	}
	return o
}

func groupOf(g admin.GroupStats, known []admin.Group) groupStatus {
	row := groupStatus{
		Name: g.Name, Held: g.Held, Retrying: g.Retrying, Parked: g.Parked, Dead: g.Dead, Estimated: g.Estimated,
		OldestRetried: g.OldestRetried.Seconds(), OldestWaiting: g.OldestWaiting.Seconds(), Slots: []slotStatus{},
	}
	for _, o := range g.Out {
		row.Out = append(row.Out, outageRow{o.Topic, o.Cause, o.Since.UTC(), o.Waiting, o.Error})
	}
	for _, k := range known {
		if k.Name == g.Name {
			row.Paused, row.MaxLag, row.Relays = k.Paused, k.MaxLag.Seconds(), k.Relays
		}
	}
	for _, s := range g.Slots {
		row.Lag = max(row.Lag, s.Lag.Seconds())
		row.Backlog += s.Backlog
		row.Slots = append(row.Slots, slotStatus{
			Slot: s.Slot, Leader: s.Owner, Epoch: s.Epoch, LeaseLeft: s.LeaseLeft.Seconds(), Window: s.Window,
			WindowAge: s.WindowAge.Seconds(), Problem: s.Problem, Backlog: s.Backlog, Lag: s.Lag.Seconds(),
		})
	}
	return row
}
