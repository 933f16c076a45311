package memoutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Source = (*Source)(nil)

// SourceConfig tunes a Source.
type SourceConfig struct {
	// Group names the reader: relays of one group share a position and a lease,
	// groups read independently of one another, each from the start of the log.
	// Defaults to "default".
	Group string

	// Slots is the number of readers that share the group, 1 to 64, each with the
	// keys of some shards. The sources of a group agree on it; Check refuses one that
	// does not. Defaults to 1.
	Slots int
}

// Source reads an Outbox for one group. It is safe for concurrent use.
type Source struct {
	ob    *Outbox
	group string
	slots int
}

// Source returns the source of a group. Sources of one group are equivalent.
func (ob *Outbox) Source(cfg SourceConfig) *Source {
	if cfg.Group == "" {
		cfg.Group = "default"
	}
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	return &Source{ob: ob, group: cfg.Group, slots: cfg.Slots}
}

// group is the state that a slot of a group stores: its lease and its position. Outbox.mu
// guards it.
type group struct {
	name        string
	slot, slots int

	epoch int64
	held  bool
	until time.Time
	pos   position
}

// slotName tells the slots of all groups apart.
type slotName struct {
	group string
	slot  int
}

// position says that everything in log[:from] is settled, and of the window
// log[from:to] the first done records in order of Seq.
type position struct {
	from, to, done int
}

// Check returns an error that wraps driver.ErrSourceUnusable where the number of
// slots cannot be, or is not that of the group.
func (s *Source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if s.slots < 1 || s.slots > keyhash.Shards {
		return errors.Join(driver.ErrSourceUnusable, outbox.ConfigError("Slots", s.slots, "must be 1 to 64"))
	}
	if have := s.sharing().slots; have != s.slots {
		reason := fmt.Sprintf("group %q has %d", s.group, have)
		return errors.Join(driver.ErrSourceUnusable, outbox.ConfigError("Slots", s.slots, reason))
	}
	return nil
}

// Wakes implements driver.Source.
func (s *Source) Wakes(ctx context.Context) <-chan struct{} {
	return s.ob.subscribe(ctx)
}

// Acquire claims the lease of the group, or of the first of its slots that is
// free, for ttl, which must be positive.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, outbox.ConfigError("ttl", ttl, "must be positive")
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	var taken *driver.LeaseHeldError
	for slot := range s.slots {
		g := s.slotOf(slot)
		left := time.Until(g.until)
		if !g.held || left <= 0 {
			return s.open(g, slot, ttl), nil
		}
		if taken == nil || left < taken.Remaining {
			taken = &driver.LeaseHeldError{Owner: ownerOf(s.group, g.epoch), Remaining: left}
		}
	}
	return nil, taken
}

// open begins a session of a slot that is free. The caller holds ob.mu.
func (s *Source) open(g *group, slot int, ttl time.Duration) *session {
	g.epoch++
	g.held = true
	g.until = time.Now().Add(ttl)
	n := &session{
		ob: s.ob, name: s.group, slot: slot, slots: s.slots, group: g, epoch: g.epoch,
		pos: g.pos, read: g.pos.done,
	}
	n.window = n.part(s.ob.window(g.pos))
	return n
}

// slotOf returns the state of a slot. The caller holds ob.mu.
func (s *Source) slotOf(slot int) *group {
	at := slotName{s.group, slot}
	g := s.ob.groups[at]
	if g == nil {
		g = &group{name: s.group, slot: slot, slots: s.slots}
		s.ob.groups[at] = g
	}
	return g
}

// window returns the records between two snapshots in order of Seq. The caller
// holds ob.mu.
func (ob *Outbox) window(pos position) []outbox.Record {
	w := slices.Clone(ob.log[pos.from:pos.to])
	slices.SortFunc(w, func(a, b outbox.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return w
}
