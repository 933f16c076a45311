package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

var (
	_ outboxtest.Grouper        = (*control)(nil)
	_ outboxtest.Delayer        = (*control)(nil)
	_ outboxtest.Replayer       = (*control)(nil)
	_ outboxtest.HistoryDropper = (*control)(nil)
	_ outboxtest.Neighbor       = (*control)(nil)
	_ outboxtest.PositionLoser  = (*control)(nil)
	_ outboxtest.CounterSetter  = (*control)(nil)
	_ outboxtest.Mover          = (*control)(nil)
)

func (c *control) Group(cfg outboxtest.GroupConfig) (driver.Source, error) {
	src := SourceConfig{Group: cfg.Name, Slots: cfg.Slots, Topics: cfg.Topics}
	src.Start = cfg.Start
	return c.source(src), nil
}

func (c *control) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (c *control) Promote(ctx context.Context) error {
	if c.promote != nil {
		c.promote(ctx)
	}
	c.Committed()
	return ctx.Err()
}

func (c *control) CancelDelayed(ctx context.Context, req admin.CancelRequest) (admin.Changed, error) {
	if c.cancel != nil {
		return c.cancel(req), nil
	}
	return c.Outbox.Admin().CancelDelayed(ctx, req)
}

// LosePositions is the work of another database under the same address.
func (c *control) LosePositions(context.Context) error {
	id, err := outbox.NewID()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
	for _, g := range c.groups {
		g.pos = position{}
	}
	return err
}

func (c *control) Another(context.Context) (outboxtest.Subject, error) {
	ob, err := New(Config{})
	return &control{operator: operatorOf(ob), session: c.session}, err
}

func (c *control) History(sel outboxtest.Selection) (driver.History, error) {
	h := droppable{c: c, sel: sel}
	if c.history != nil {
		return c.history(h), nil
	}
	return h, nil
}

func (c *control) DropHistory(_ context.Context, seq int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = seq
	return nil
}

// Retain deletes nothing: a process in memory keeps its history.
func (c *control) Retain(context.Context) error {
	if c.retain != nil {
		c.retain()
	}
	return nil
}

// droppable is history that can be dropped from its oldest end, as a database's can.
type droppable struct {
	c   *control
	sel outboxtest.Selection
}

func (h droppable) Begin(ctx context.Context, order driver.ReplayOrder) (driver.Playback, error) {
	return h.begin(ctx, order)
}

func (h droppable) begin(ctx context.Context, order driver.ReplayOrder) (*droppablePlayback, error) {
	cfg := HistoryConfig(h.sel)
	if order.Position == "" {
		h.c.mu.Lock()
		cfg.FromSeq = max(cfg.FromSeq, h.c.gone+1)
		h.c.mu.Unlock()
	}
	p, err := h.c.Outbox.History(cfg).Begin(ctx, order)
	if err != nil {
		return nil, err
	}
	return &droppablePlayback{playback: p.(*playback), c: h.c}, nil
}

type droppablePlayback struct {
	*playback

	c      *control
	silent bool
}

func (p *droppablePlayback) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	p.c.mu.Lock()
	gone := p.c.gone
	p.c.mu.Unlock()
	if len(p.records) == 0 || p.records[0].Seq > gone {
		return p.playback.Read(ctx, limit)
	}
	gap := &driver.HistoryGapError{From: p.last + 1, To: gone}
	p.records = slices.DeleteFunc(slices.Clone(p.records), func(r outbox.Record) bool { return r.Seq <= gone })
	p.last = gone
	if p.silent {
		return p.playback.Read(ctx, limit)
	}
	return nil, gap
}

// SetCounter does nothing: numbers are places in the log.
func (c *control) SetCounter(context.Context, int64) error {
	if c.counter != nil {
		c.counter()
	}
	return nil
}

// Ground moves nothing: nothing can move a log in memory. The position of a sink can be wrong.
func (c *control) Ground() (store string, moves map[string]func(ctx context.Context) error) {
	if c.ground != nil {
		return c.ground()
	}
	return string(basis.Memory), nil
}
