package dashboard

import (
	"maps"
	"slices"
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
