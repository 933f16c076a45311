package dashboard

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// alarm is something that an operator should look at. Severity is fail or warn.
type alarm struct {
	Severity string `json:"severity"`
	Store    string `json:"store"`
	Group    string `json:"group,omitempty"`
	Text     string `json:"text"`
}

// lateAfter is the lag from which a group is late: the objective of the alerts.
const lateAfter = 10 * time.Second

// alarms are what is wrong now, by the figures alone.
func alarms(st status) (all []alarm) {
	for _, o := range st.Outboxes {
		if o.Failed {
			all = append(all, alarm{"fail", o.Name, "", "the outbox does not answer: what is shown is old"})
		}
		if o.Ahead != nil && *o.Ahead == 0 {
			all = append(all, alarm{"warn", o.Name, "", "no range of the log is ahead: is maintenance running?"})
		}
		for _, g := range o.Groups {
			for _, a := range g.alarms() {
				a.Store, a.Group = o.Name, g.Name
				all = append(all, a)
			}
		}
	}
	for _, i := range st.Inboxes {
		if i.Failed {
			all = append(all, alarm{"fail", i.Name, "", "the inbox does not answer: what is shown is old"})
		}
		if i.Parked > 0 {
			all = append(all, alarm{"warn", i.Name, "", fmt.Sprintf("%d messages of the inbox wait for an operator", i.Parked)})
		}
	}
	return all
}

func (g groupStatus) alarms() (all []alarm) {
	add := func(severity, format string, args ...any) {
		all = append(all, alarm{Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	for _, s := range g.Slots {
		if s.Problem != "" {
			add("fail", "slot %d: %s", s.Slot, s.Problem)
		}
		if s.LeaseLeft == 0 && s.Backlog > 0 {
			add("fail", "slot %d: nobody leads, and %d messages wait", s.Slot, s.Backlog)
		}
	}
	if n := len(g.Out); n > 0 && (driver.Outage{Error: g.Out[0].Error}).Whole() {
		add("fail", "%s, since %s, for %d topics", g.Out[0].Error, g.Out[0].Since.Format(time.RFC3339), n)
	} else if n > 0 {
		add("fail", "%d destinations are out, %q since %s: %s", n, g.Out[0].Topic, g.Out[0].Since.Format(time.RFC3339), g.Out[0].Error)
	}
	if len(g.Paused) > 0 {
		add("warn", "paused: %q", g.Paused)
	} else {
		for _, late := range []struct {
			seconds float64
			what    string
		}{{g.Lag, ""}, {g.OldestRetried, " that is tried again"}, {g.OldestWaiting, " behind another one of its key"}} {
			if late.seconds > lateAfter.Seconds() {
				add("warn", "late: the oldest message%s waits for %s", late.what, time.Duration(late.seconds*float64(time.Second)).Round(time.Second))
			}
		}
	}
	if g.Parked > 0 {
		add("warn", "%d records are parked", g.Parked)
	}
	return all
}
