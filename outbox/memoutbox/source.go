package memoutbox

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

var _ relay.Source = (*Source)(nil)

// SourceConfig tunes a Source.
type SourceConfig struct {
	// Group names the reader: relays of one group share a position and a lease,
	// groups read independently of one another, each from the start of the log.
	// Defaults to "default".
	Group string
}

// Source reads an Outbox for one group. It is safe for concurrent use.
type Source struct {
	ob    *Outbox
	group string
}

// Source returns the source of a group. Sources of one group are equivalent.
func (ob *Outbox) Source(cfg SourceConfig) *Source {
	if cfg.Group == "" {
		cfg.Group = "default"
	}
	return &Source{ob: ob, group: cfg.Group}
}

// group is the state that a group stores: its lease and its position. Outbox.mu
// guards it.
type group struct {
	epoch int64
	held  bool
	until time.Time
	pos   position
}

// position says that everything in log[:from] is settled, and of the window
// log[from:to] the first done records in order of Seq.
type position struct {
	from, to, done int
}

// Check reports nothing but the error of ctx: memory is always readable.
func (s *Source) Check(ctx context.Context) error {
	return ctx.Err()
}

// Wakes implements relay.Source.
func (s *Source) Wakes(ctx context.Context) <-chan struct{} {
	return s.ob.subscribe(ctx)
}

// Acquire claims the lease of the group for ttl, which must be positive.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (relay.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, outbox.ConfigError("ttl", ttl, "must be positive")
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	g := s.ob.groups[s.group]
	if g == nil {
		g = &group{}
		s.ob.groups[s.group] = g
	}
	if left := time.Until(g.until); g.held && left > 0 {
		owner := "session " + strconv.FormatInt(g.epoch, 10) + " of group " + s.group
		return nil, &relay.LeaseHeldError{Owner: owner, Remaining: left}
	}
	g.epoch++
	g.held = true
	g.until = time.Now().Add(ttl)
	return &session{
		ob: s.ob, group: g, epoch: g.epoch,
		pos: g.pos, window: s.ob.window(g.pos), read: g.pos.done,
	}, nil
}

// window returns the records between two snapshots in order of Seq. The caller
// holds ob.mu.
func (ob *Outbox) window(pos position) []outbox.Record {
	w := slices.Clone(ob.log[pos.from:pos.to])
	slices.SortFunc(w, func(a, b outbox.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return w
}
