package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// status is the state of all stores.
type status struct {
	V        int            `json:"v"`
	At       time.Time      `json:"at"`
	Outboxes []outboxStatus `json:"outboxes"`
	Inboxes  []inboxStatus  `json:"inboxes"`
	Alarms   []alarm        `json:"alarms"`
}

// outboxStatus is the state of an outbox. If Failed is set, the figures are from the time At.
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

// groupStatus is the state of a relay group. Lag is the greatest of its slots, and Backlog the
// sum.
type groupStatus struct {
	Name          string       `json:"name"`
	Paused        []string     `json:"paused,omitempty"`
	Policies      []string     `json:"policies,omitempty"`
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

// inboxStatus is the state of an inbox. If Failed is set, the figures are from the time At.
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
		fillRates(&o, name, past, s)
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

// groupAt is a group with its place.
type groupAt struct {
	place
	groupStatus
}

// within returns the groups in a scope.
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

// in returns the part of st in a scope. Inboxes belong to every scope.
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

// Moves reports whether messages are enqueued, sent, or waiting.
func (o outboxStatus) Moves() bool {
	return o.Rate > 0 || slices.ContainsFunc(o.Groups, func(g groupStatus) bool { return g.Backlog > 0 || g.Settled > 0 })
}

// Oldest returns the age of the oldest unsent message, wherever it waits, in seconds.
func (g groupStatus) Oldest() float64 { return max(g.Lag, g.OldestRetried, g.OldestWaiting) }

// Late reports whether that is more than the objective of the alerts.
func (g groupStatus) Late() bool { return g.Oldest() > lateAfter.Seconds() }

// State returns the state of a group as a word and its CSS class.
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

// Word returns the word of State, for templates.
func (g groupStatus) Word() string { word, _ := g.State(); return word }

// Tone returns the CSS class of State.
func (g groupStatus) Tone() string { _, tone := g.State(); return tone }

// spark is the backlog of a group over the last half hour, as a line.
type spark struct {
	// Line holds the points of the line, and Area those of the area below it. Flat is set if the
	// backlog did not change.
	Line, Area string
	Flat       bool
	// Text describes the line in words.
	Text string
}

const (
	sparkWidth, sparkHeight = 96, 20
	// mostPoints is how many points a line has, and leastScale the least backlog that its height
	// stands for.
	mostPoints, leastScale = 24, 250
)

// sparks returns the lines of all groups.
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
			row.Paused, row.Policies, row.MaxLag, row.Relays = k.Paused, k.Policies, k.MaxLag.Seconds(), k.Relays
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
