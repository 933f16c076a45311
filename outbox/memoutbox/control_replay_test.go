package memoutbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// brokenReplays are the ways of replaying that lose, repeat, mix or disturb.
func brokenReplays() []negative {
	return []negative{
		{"a page is replayed twice", repeatsPages, map[string]string{
			"O4_ReplaySendsWhatWasSent": "replayed 42 records, want 21",
			"O12_ReplayDisturbsNobody":  "24 sent",
		}},
		{"the last record of a page is left out", leavesOut, map[string]string{
			"O4_ReplaySendsWhatWasSent": "want 21",
		}},
		{"all of history is replayed", selectsAll, map[string]string{
			"O4_ReplaySelects": "selected from a number",
		}},
		{"a replay is not resumed", beginsAgain, map[string]string{
			"O2_ReplayResumes":       "resumed after 1 of 6",
			"O2_ReplayIsOfOneMoment": "resumed after more has committed",
		}},
		{"what commits meanwhile is replayed", looksAnew, map[string]string{
			"O2_ReplayIsOfOneMoment": "under way while more committed",
		}},
		{"any text is a position", anyPosition, map[string]string{
			"O2_ReplayRefusesWhatIsNoPosition": "begin of a replay at",
		}},
		{"a replay moves the relays back", movesRelays, map[string]string{
			"O12_ReplayDisturbsNobody": "want [m-1",
		}},
		{"a gap is passed over", silentGaps, map[string]string{
			"O2_ReplayTellsOfGaps": "no error, want leat: history",
		}},
		{"a replay goes further than it says", shortBounds, map[string]string{
			"Admin_ReplayHasBounds": "replay of",
		}},
		{"a replay says that all is well", brightEnds, map[string]string{
			"Admin_ReplayIsAudited": "an error if the replay has stopped",
		}},
		{"a replay never ends", silentEnds, map[string]string{
			"Admin_ReplayIsAudited": "want 4 more",
		}},
		{"what nobody asks for is a gap", eagerGaps, map[string]string{
			"O2_ReplayBeginsWithWhatIsRetained": "no longer retained",
		}},
	}
}

// replaying has a control begin its replays by begin.
func replaying(
	c *control, begin func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error),
) {
	c.history = func(h droppable) driver.History { return brokenHistory{h, begin} }
}

type brokenHistory struct {
	droppable

	begin func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error)
}

func (h brokenHistory) Begin(ctx context.Context, order driver.ReplayOrder) (driver.Playback, error) {
	return h.begin(ctx, h.droppable, order)
}

// playbackOf is a playback whose pages are what change makes of them.
type playbackOf struct {
	*droppablePlayback

	read func(ctx context.Context, limit int) ([]outbox.Record, error)
}

func (p playbackOf) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	return p.read(ctx, limit)
}

func repeatsPages(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		inner, err := h.begin(ctx, order)
		if err != nil {
			return nil, err
		}
		var last []outbox.Record
		return playbackOf{inner, func(ctx context.Context, limit int) ([]outbox.Record, error) {
			if again := last; again != nil {
				last = nil
				return again, nil
			}
			page, err := inner.Read(ctx, limit)
			last = page
			if len(page) == 0 {
				last = nil
			}
			return page, err
		}}, nil
	})
}

func leavesOut(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		inner, err := h.begin(ctx, order)
		if err != nil {
			return nil, err
		}
		return playbackOf{inner, func(ctx context.Context, limit int) ([]outbox.Record, error) {
			page, err := inner.Read(ctx, limit)
			if len(page) > 1 {
				page = page[:len(page)-1]
			}
			return page, err
		}}, nil
	})
}

func selectsAll(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		h.sel = outboxtest.Selection{}
		return h.Begin(ctx, order)
	})
}

func beginsAgain(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		order.Position = ""
		return h.Begin(ctx, order)
	})
}

// looksAnew reads what is committed when it reads.
func looksAnew(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		inner, err := h.begin(ctx, order)
		if err != nil {
			return nil, err
		}
		return playbackOf{inner, func(ctx context.Context, limit int) ([]outbox.Record, error) {
			h.sel.FromSeq = inner.last + 1
			now, err := h.begin(ctx, driver.ReplayOrder{})
			if err != nil {
				return nil, err
			}
			inner.records = now.records
			return inner.Read(ctx, limit)
		}}, nil
	})
}

func anyPosition(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		p, err := h.Begin(ctx, order)
		if errors.Is(err, outbox.ErrInvalidConfig) {
			return h.Begin(ctx, driver.ReplayOrder{})
		}
		return p, err
	})
}

func movesRelays(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		h.c.mu.Lock()
		for _, g := range h.c.groups {
			g.held, g.pos = false, position{}
		}
		h.c.mu.Unlock()
		return h.Begin(ctx, order)
	})
}

func silentGaps(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		p, err := h.begin(ctx, order)
		if err != nil {
			return nil, err
		}
		p.silent = true
		return p, nil
	})
}

// endsAs wraps every playback.
func endsAs(c *control, wrap func(p *droppablePlayback) driver.Playback) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		p, err := h.begin(ctx, order)
		if err != nil {
			return nil, err
		}
		return wrap(p), nil
	})
}

func shortBounds(c *control) {
	endsAs(c, func(p *droppablePlayback) driver.Playback { return shortPlayback{p} })
}

type shortPlayback struct{ *droppablePlayback }

func (p shortPlayback) Bounds() (first, end int64) {
	first, end = p.droppablePlayback.Bounds()
	return first, end - 1
}

func brightEnds(c *control) {
	endsAs(c, func(p *droppablePlayback) driver.Playback { return brightPlayback{p} })
}

type brightPlayback struct{ *droppablePlayback }

func (p brightPlayback) End(ctx context.Context, e driver.ReplayEnd) error {
	e.Err = nil
	return p.droppablePlayback.End(ctx, e)
}

func silentEnds(c *control) {
	endsAs(c, func(p *droppablePlayback) driver.Playback { return silentPlayback{p} })
}

type silentPlayback struct{ *droppablePlayback }

func (p silentPlayback) End(context.Context, driver.ReplayEnd) error { return nil }

// eagerGaps begins where the log began.
func eagerGaps(c *control) {
	replaying(c, func(ctx context.Context, h droppable, order driver.ReplayOrder) (driver.Playback, error) {
		p, err := h.c.Outbox.History(HistoryConfig(h.sel)).Begin(ctx, order)
		if err != nil {
			return nil, err
		}
		return &droppablePlayback{playback: p.(*playback), c: h.c}, nil
	})
}
