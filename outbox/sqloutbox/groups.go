package sqloutbox

import (
	"context"
	"encoding/json"
	"time"
)

// groupState is the row of a group with what operators and relays have said of it.
type groupState struct {
	groupRow

	name           string
	topics, paused []string
	maxLag         time.Duration
	created        time.Time
}

// groups returns all groups, by name.
func (o *Outbox) groups(ctx context.Context, q querier) (all []groupState, err error) {
	err = each(ctx, q, func(scan scanner) error {
		var g groupState
		var name, owner, gaps, topics, paused []byte
		var left, now, last, lag, created int64
		if err := scan(&name, &owner, &g.epoch, &left, &now, &last, &gaps, &topics, &paused, &lag, &created); err != nil {
			return err
		}
		g.name, g.owner, g.left, g.now = string(name), string(owner), time.Duration(left)*time.Microsecond, micros(now)
		g.maxLag, g.created = time.Duration(lag)*time.Microsecond, micros(created)
		var err error
		if g.at, err = parsePosition(last, string(gaps)); err != nil {
			return err
		}
		if g.topics, err = parseTexts(topics); err != nil {
			return err
		}
		g.paused, err = parseTexts(paused)
		all = append(all, g)
		return err
	}, o.sql["groups"])
	return all, err
}

// parseTexts reads a list of texts; nothing is no list.
func parseTexts(raw []byte) (texts []string, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &texts)
	}
	return texts, err
}
