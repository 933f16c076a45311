package dashboard

import (
	"errors"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// groupRow is a relay group, with the relays that work for it.
type groupRow struct {
	Name      string      `json:"name"`
	Topics    []string    `json:"topics,omitempty"`
	MaxLag    float64     `json:"max_lag_seconds,omitempty"`
	Paused    []string    `json:"paused,omitempty"`
	Policies  []string    `json:"policies,omitempty"`
	Slots     int         `json:"slots"`
	NextSlots int         `json:"next_slots,omitempty"`
	CreatedAt time.Time   `json:"created_at,omitzero"`
	Leases    int         `json:"leases"`
	Members   []memberRow `json:"members"`
	// Breakers are the open breakers of relays in this process, at most mostBreakers. MoreBreakers are not shown.
	Breakers     []breakerRow `json:"breakers"`
	MoreBreakers int          `json:"more_breakers,omitempty"`
}

// mostBreakers bounds the destinations that are shown of a group, since any producer can add topics.
const mostBreakers = 100

// breakerRow is a destination to which a relay currently does not send.
type breakerRow struct {
	Topic string    `json:"topic"`
	Since time.Time `json:"since,omitzero"`
	// NextProbe is when it is tried again.
	NextProbe time.Time `json:"next_probe,omitzero"`
	// Unavailable is set if the destination answers, but does not accept the topic.
	Unavailable bool   `json:"unavailable,omitempty"`
	Error       string `json:"error,omitempty"`
}

type memberRow struct {
	Name        string    `json:"name"`
	Slots       []int     `json:"slots"`
	WantedSlots int       `json:"wanted_slots,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	Until       time.Time `json:"until,omitzero"`
}

func (c *call) groups() (list[groupRow], error) {
	none := list[groupRow]{Items: []groupRow{}}
	name, ob, err := c.outbox()
	if err != nil {
		return none, err
	}
	if err := c.q.done(); err != nil {
		return none, err
	}
	groups, err := ob.Groups(c.ctx())
	if err != nil {
		return none, err
	}
	for _, g := range groups {
		members, err := ob.Members(c.ctx(), g.Name)
		if err != nil && !errors.Is(err, admin.ErrNoSuchGroup) {
			return none, err
		}
		row := groupRow{
			Name: g.Name, Topics: g.Topics, MaxLag: g.MaxLag.Seconds(), Paused: g.Paused, Policies: g.Policies, Slots: g.Slots, NextSlots: g.NextSlots,
			CreatedAt: g.CreatedAt, Leases: g.Leases, Members: []memberRow{},
		}
		row.Breakers, row.MoreBreakers = c.breakers(name, g.Name)
		for _, m := range members {
			row.Members = append(row.Members, memberRow{m.Name, append([]int{}, m.Slots...), m.WantedSlots, m.Since, m.Until})
		}
		if !none.add(c, row) {
			none.Truncated = true
			break
		}
	}
	return none, nil
}

// breakers returns the open breakers of a group, as far as this process knows, and how many more there are.
func (c *call) breakers(outbox, group string) (rows []breakerRow, more int) {
	rows = []breakerRow{}
	if c.d.cfg.Breakers == nil {
		return rows, 0
	}
	for _, b := range c.d.cfg.Breakers(outbox, group) {
		if !b.Open {
			continue
		}
		if len(rows) == mostBreakers {
			more++
			continue
		}
		row := breakerRow{Topic: b.Topic, Since: b.Since, NextProbe: b.NextProbe, Unavailable: b.Unavailable}
		if b.Err != nil {
			row.Error = b.Err.Error()
		}
		rows = append(rows, row)
	}
	return rows, more
}
