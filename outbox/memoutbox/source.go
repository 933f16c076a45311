package memoutbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Source = (*source)(nil)

// LogValue implements slog.LogValuer: the outbox and the group, as relays log them.
func (s *source) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", "memory"), slog.String("group", s.group))
}

// SourceConfig tunes Outbox.Source.
type SourceConfig struct {
	// Group names the reader: relays of one group share a position and a lease,
	// groups read independently of one another.
	// Defaults to "default".
	Group string

	// Slots is the number of readers that share the group, 1 to 64, each with the keys of some shards. A
	// running group is changed to another number once all of its live sources are configured with it.
	// Defaults to 1.
	Slots int

	// Start is where the group begins if it has never read before; otherwise it is ignored.
	// Defaults to Oldest.
	Start driver.Start

	// Topics are patterns of the topics that the group reads, in which * stands for any run of
	// characters. A group whose patterns change uses the new ones from its current position.
	// Acquire refuses if waiting messages would then never be sent (admin.Manager.SetTopics).
	// Defaults to all topics.
	Topics []string
}

// source reads an Outbox for one group. It is safe for concurrent use.
type source struct {
	ob     *Outbox
	group  string
	slots  int
	begin  driver.Start
	topics []string
}

// Source returns a source of a group. Sources of one group with the same configuration are
// equivalent.
func (ob *Outbox) Source(cfg SourceConfig) driver.Source {
	cfg.Group = cmp.Or(cfg.Group, "default")
	cfg.Slots = cmp.Or(cfg.Slots, 1)
	return &source{ob: ob, group: cfg.Group, slots: cfg.Slots, begin: cfg.Start, topics: slices.Clone(cfg.Topics)}
}

// DefaultSource is Source with the zero SourceConfig, for package leat.
func (ob *Outbox) DefaultSource() (driver.Source, error) { return ob.Source(SourceConfig{}), nil }

// group is the state that a slot of a group stores: its lease and its position. Outbox.mu
// guards it.
type group struct {
	name string
	slot int

	epoch  int64
	held   bool
	until  time.Time
	pos    position
	topics []string // the topics with which pos was counted
	out    outages
}

// slotName identifies a slot among those of all groups.
type slotName struct {
	group string
	slot  int
}

// position is a place in the log: everything in log[:from] is settled, and so are the first
// done records of the window log[from:to], in order of Seq.
type position struct {
	from, to, done int
}

// Check returns an error that wraps driver.ErrSourceUnusable if the number of slots or the start
// is invalid.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.slots < 1 || s.slots > keyhash.Shards {
		return errors.Join(driver.ErrSourceUnusable, outbox.ConfigError("Slots", s.slots, "must be 1 to 64"))
	}
	if err := s.begin.Check(); err != nil {
		return errors.Join(driver.ErrSourceUnusable, err)
	}
	return nil
}

// Wakes implements driver.Source.
func (s *source) Wakes(ctx context.Context) <-chan struct{} {
	return s.ob.subscribe(ctx)
}

// Acquire claims the lease of the group, or of the first of its slots that is
// free, for ttl, which must be positive.
func (s *source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, outbox.ConfigError("ttl", ttl, "must be positive")
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if err := basis.Renamed(s.group, s.ob.former[s.group]); err != nil {
		return nil, errors.Join(driver.ErrSourceUnusable, err)
	}
	h := s.sharing()
	s.start(h)
	s.change(h)
	var taken *driver.LeaseHeldError
	for slot := range h.slots {
		g := s.slotOf(slot)
		switch {
		case g.leased():
			taken = s.heldBy(g, taken)
		case !h.ends(g.pos):
			return s.open(g, h, slot, ttl)
		}
	}
	if h.next > 0 {
		taken.Remaining = min(taken.Remaining, switchPoll)
	}
	return nil, taken
}

// heldBy returns the error about a slot that is taken, or before if that slot is free sooner. The
// caller holds ob.mu.
func (s *source) heldBy(g *group, other *driver.LeaseHeldError) *driver.LeaseHeldError {
	left := time.Until(g.until)
	if other != nil && other.Remaining <= left {
		return other
	}
	return &driver.LeaseHeldError{Owner: ownerOf(s.group, g.epoch), Remaining: left}
}

// open begins a session of a free slot. The caller holds ob.mu.
func (s *source) open(g *group, h *sharing, slot int, ttl time.Duration) (driver.Session, error) {
	if err := s.ob.changeOf(g, s.topics).Err(); err != nil {
		return nil, errors.Join(driver.ErrSourceUnusable, err)
	}
	g.epoch++
	g.held = true
	g.until = time.Now().Add(ttl)
	s.ob.setTopics(g, s.topics)
	n := &session{
		ob: s.ob, name: s.group, slot: slot, slots: h.slots, topics: s.topics, sharing: h, group: g, epoch: g.epoch,
	}
	n.pos, n.read = g.pos, g.pos.done
	n.window = n.part(s.ob.window(g.pos))
	return n, nil
}

// changeOf returns the effect on a slot of a change of its group's topics. The caller holds
// ob.mu.
func (ob *Outbox) changeOf(g *group, now []string) *basis.Topics {
	c := &basis.Topics{Group: g.name, Then: g.topics, Now: now}
	if basis.SameTopics(g.topics, now) {
		return c
	}
	for r := range ob.unsettled(g) {
		if c.Leaves(r.Topic) {
			c.Left++
		}
	}
	return c
}

// setTopics changes the topics of a slot, and recounts what is settled of its window. The caller
// holds ob.mu.
func (ob *Outbox) setTopics(g *group, now []string) {
	if slices.Equal(g.topics, now) {
		return
	}
	part := session{ob: ob, slot: g.slot, slots: ob.shares[g.name].slots, topics: g.topics}
	last := part.lastOf(g.pos)
	part.topics = now
	g.topics, g.pos.done = now, part.countTo(g.pos, last)
}

// slotOf returns the state of a slot. The caller holds ob.mu.
func (s *source) slotOf(slot int) *group {
	at := slotName{s.group, slot}
	g := s.ob.groups[at]
	if g == nil {
		begin := s.sharing().begin
		g = &group{name: s.group, slot: slot, pos: position{from: begin, to: begin}, topics: s.topics}
		s.ob.groups[at] = g
	}
	return g
}

// window returns the records between two snapshots in order of Seq. The caller
// holds ob.mu.
func (ob *Outbox) window(pos position) []outbox.Record {
	w := slices.Clone(ob.log[pos.from:pos.to])
	slices.SortFunc(w, bySeq)
	return w
}

func bySeq(a, b outbox.Record) int { return cmp.Compare(a.Seq, b.Seq) }

// retained returns the log in the order of its numbers. It is usually the log itself, and must
// not be changed. The caller holds ob.mu.
func (ob *Outbox) retained() []outbox.Record {
	if slices.IsSortedFunc(ob.log, bySeq) {
		return ob.log
	}
	return ob.window(position{to: len(ob.log)})
}
