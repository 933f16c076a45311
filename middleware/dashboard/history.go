package dashboard

// history is the figures of an outbox over the last half hour, a column a list.
type history struct {
	Outbox string `json:"outbox"`
	// At are the times, in seconds since 1970.
	At     []int64         `json:"at"`
	Rate   []float64       `json:"enqueued_per_second"`
	Groups []groupsHistory `json:"groups"`
}

// groupsHistory is that of a group; null before it was known.
type groupsHistory struct {
	Name    string     `json:"name"`
	Lag     []*float64 `json:"lag_seconds"`
	Backlog []*int64   `json:"backlog"`
}

func (c *call) history() (history, error) {
	name, _, err := c.outbox()
	if err != nil {
		return history{}, err
	}
	if err := c.q.done(); err != nil {
		return history{}, err
	}
	if _, err := c.d.sampler.get(c.ctx(), idleAge); err != nil {
		return history{}, err
	}
	return historyOf(name, c.d.sampler.past()), nil
}

func historyOf(name string, past []sample) history {
	h := history{Outbox: name, At: []int64{}, Rate: []float64{}, Groups: []groupsHistory{}}
	index := map[string]int{}
	for i, s := range past {
		o := outboxOf(name, s.outboxes[name])
		h.At = append(h.At, s.at.Unix())
		h.Rate = append(h.Rate, rate(name, past[:i], s))
		for _, g := range o.Groups {
			at, known := index[g.Name]
			if !known {
				at = len(h.Groups)
				index[g.Name] = at
				h.Groups = append(h.Groups, groupsHistory{Name: g.Name, Lag: make([]*float64, i), Backlog: make([]*int64, i)})
			}
			row := &h.Groups[at]
			row.Lag, row.Backlog = append(row.Lag, &g.Lag), append(row.Backlog, &g.Backlog)
		}
		for j := range h.Groups { // a group that is gone
			for len(h.Groups[j].Lag) <= i {
				h.Groups[j].Lag, h.Groups[j].Backlog = append(h.Groups[j].Lag, nil), append(h.Groups[j].Backlog, nil)
			}
		}
	}
	return h
}
