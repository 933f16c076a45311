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
	Settled []*float64 `json:"settled_per_second"`
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
		o.rates(name, past[:i], s)
		h.At = append(h.At, s.at.Unix())
		h.Rate = append(h.Rate, o.Rate)
		for _, g := range o.Groups {
			at, known := index[g.Name]
			if !known {
				at = len(h.Groups)
				index[g.Name] = at
				h.Groups = append(h.Groups, groupsHistory{g.Name, make([]*float64, i), make([]*int64, i), make([]*float64, i)})
			}
			h.Groups[at].add(&g.Lag, &g.Backlog, &g.Settled)
		}
		for j := range h.Groups {
			if len(h.Groups[j].Lag) <= i {
				h.Groups[j].add(nil, nil, nil) // it is gone
			}
		}
	}
	return h
}

func (g *groupsHistory) add(lag *float64, backlog *int64, settled *float64) {
	g.Lag, g.Backlog, g.Settled = append(g.Lag, lag), append(g.Backlog, backlog), append(g.Settled, settled)
}
