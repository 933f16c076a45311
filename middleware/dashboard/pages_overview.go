package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// overviewData is the state of everything in the scope.
type overviewData struct {
	status

	Sparks map[place]spark
}

func (o overviewData) docTitle() string {
	var pages, tickets int
	for _, a := range o.Alarms {
		switch a.Severity {
		case severityPage:
			pages++
		case severityTicket:
			tickets++
		}
	}
	var parts []string
	if pages > 0 {
		parts = append(parts, count(pages, "page", "pages"))
	}
	if tickets > 0 {
		parts = append(parts, count(tickets, "ticket", "tickets"))
	}
	if len(parts) == 0 {
		return "Overview"
	}
	return strings.Join(parts, ", ") + " · Overview"
}

// Groups returns the number of groups.
func (o overviewData) Groups() (n int) {
	for _, ob := range o.Outboxes {
		n += len(ob.Groups)
	}
	return n
}

// Enqueued returns the number of messages enqueued per second.
func (o overviewData) Enqueued() (n float64) {
	for _, ob := range o.Outboxes {
		n += ob.Rate
	}
	return n
}

// Settled returns the number of records that all groups settle per second.
func (o overviewData) Settled() (n float64) {
	for _, ob := range o.Outboxes {
		for _, g := range ob.Groups {
			n += g.Settled
		}
	}
	return n
}

// Works returns the number of slots that relays lead.
func (o overviewData) Works() (relays int) {
	for _, ob := range o.Outboxes {
		for _, g := range ob.Groups {
			for _, s := range g.Slots {
				if s.LeaseLeft > 0 {
					relays++
				}
			}
		}
	}
	return relays
}

func (c *call) overviewPage() (any, error) { return c.overview() }

func (c *call) overview() (overviewData, error) {
	if err := c.q.done(); err != nil {
		return overviewData{}, err
	}
	if _, err := c.outboxes(); err != nil {
		return overviewData{}, err
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return overviewData{}, err
	}
	st := c.d.status(s).in(c.scope())
	if c.scope().Outbox != "" {
		st.Inboxes = nil
	}
	return overviewData{st, sparks(c.d.sampler.past())}, nil
}

// groupData is a group, and the table of groups if none was chosen.
type groupData struct {
	overviewData

	// One is the chosen group.
	One *groupAt
	Row groupRow
	Out outRows
}

func (d groupData) docTitle() string {
	if d.One == nil {
		return count(d.Groups(), "group", "groups")
	}
	word, _ := d.One.State()
	return word + " · Group"
}

// Overview returns the data of the table of groups.
func (d groupData) Overview() overviewData { return d.overviewData }

func (c *call) groupsPage() (any, error) {
	all, err := c.overview()
	if err != nil {
		return nil, err
	}
	data, in := groupData{overviewData: all}, c.scope()
	groups := all.within(in)
	if in.Group == "" && len(groups) != 1 {
		return data, nil
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%w: outbox %.100q has no group %.100q", errNothing, in.Outbox, in.Group)
	}
	data.One = &groups[0]
	rows, err := also(c, (*call).groups, url.Values{"outbox": {data.One.Outbox}})
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Items {
		if row.Name == data.One.Group {
			data.Row = row
		}
	}
	data.Out = outOf(data.One.Out, data.Row.Breakers)
	return data, nil
}

// outRow is a destination that is out, by the record of its slot's leader and by the relays of
// this process.
type outRow struct {
	outageRow

	NextProbe time.Time
}

// outRows are destinations of a group that are out.
type outRows []outRow

// Count is how many there are, with those that are not listed.
func (all outRows) Count() (n int) {
	for _, o := range all {
		n += max(1, moreOut(o.outageRow))
	}
	return n
}

// Why returns a plain description of why the destination is out.
func (o outRow) Why() string {
	switch o.Cause {
	case "outage":
		return "It does not answer"
	case "unavailable":
		return "It does not take the topic"
	default:
		return "Its records fail for reasons that nobody knows"
	}
}

// outOf merges the stored outages with those known in this process, by topic.
func outOf(stored []outageRow, here []breakerRow) (all outRows) {
	listed := true
	for _, o := range stored {
		all = append(all, outRow{outageRow: o})
		listed = listed && moreOut(o) == 0
	}
	for _, b := range here {
		i := slices.IndexFunc(all, func(o outRow) bool { return o.Topic == b.Topic })
		if i < 0 && !listed {
			continue // it is one of those that are counted only
		}
		if i < 0 {
			cause := "outage"
			if b.Unavailable {
				cause = "unavailable"
			}
			all = append(all, outRow{outageRow: outageRow{Topic: b.Topic, Cause: cause, Since: b.Since, Error: b.Error}})
			i = len(all) - 1
		}
		all[i].NextProbe = b.NextProbe
	}
	return all
}
