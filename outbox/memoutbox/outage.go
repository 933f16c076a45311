package memoutbox

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.OutageKeeper = (*session)(nil)

// outages are the outages that the leader with this epoch has stored.
type outages struct {
	epoch int64
	all   []driver.Outage
}

// KeepOutages implements driver.OutageKeeper.
func (s *session) KeepOutages(ctx context.Context, all []driver.Outage) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	s.group.out = outages{s.epoch, slices.Clone(all)}
	return nil
}

// addOutages adds the outages that the leader of a slot has stored. The caller holds ob.mu.
func (ob *Outbox) addOutages(to *admin.GroupStats, g *group) {
	if g.out.epoch != g.epoch {
		return // an earlier leader stored them
	}
	for _, o := range g.out.all {
		o.Waiting = ob.heldOf(g.name).Retrying(o.Topic)
		i := slices.IndexFunc(to.Out, func(other driver.Outage) bool { return other.Topic == o.Topic })
		switch {
		case i < 0:
			to.Out = append(to.Out, o)
		case o.Since.Before(to.Out[i].Since):
			to.Out[i] = o
		}
	}
	slices.SortFunc(to.Out, func(a, b driver.Outage) int { return cmp.Compare(a.Topic, b.Topic) })
}
