package dashboard

import (
	"errors"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// groupRow is a relay group, and who relays for it.
type groupRow struct {
	Name      string      `json:"name"`
	Topics    []string    `json:"topics,omitempty"`
	MaxLag    float64     `json:"max_lag_seconds,omitempty"`
	Paused    []string    `json:"paused,omitempty"`
	Slots     int         `json:"slots"`
	NextSlots int         `json:"next_slots,omitempty"`
	CreatedAt time.Time   `json:"created_at,omitzero"`
	Leases    int         `json:"leases"`
	Members   []memberRow `json:"members"`
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
	_, ob, err := c.outbox()
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
			Name: g.Name, Topics: g.Topics, MaxLag: g.MaxLag.Seconds(), Paused: g.Paused, Slots: g.Slots, NextSlots: g.NextSlots,
			CreatedAt: g.CreatedAt, Leases: g.Leases, Members: []memberRow{},
		}
		for _, m := range members {
			row.Members = append(row.Members, memberRow{m.Name, append([]int{}, m.Slots...), m.WantedSlots, m.Since, m.Until})
		}
		none.Items = append(none.Items, row)
	}
	return none, nil
}
