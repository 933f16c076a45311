package memoutbox

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// HistoryConfig selects the records to replay. The zero value selects everything.
type HistoryConfig struct {
	// FromSeq and ToSeq bound outbox.Record.Seq, both included; 0 means unbounded.
	// Default to 0.
	FromSeq, ToSeq int64

	// Topics are patterns, in which * stands for any run of characters.
	// Defaults to all topics.
	Topics []string
}

// History selects committed messages for relay.Replay.
func (ob *Outbox) History(cfg HistoryConfig) driver.History {
	return &history{ob: ob, cfg: cfg}
}

type history struct {
	ob  *Outbox
	cfg HistoryConfig
}

// Begin implements driver.History. Its audit entries have no group.
func (h *history) Begin(ctx context.Context, order driver.ReplayOrder) (driver.Playback, error) {
	h.ob.mu.Lock()
	defer h.ob.mu.Unlock()
	p := &playback{ob: h.ob, by: admin.By{Actor: order.Actor, Reason: order.Reason}, size: len(h.ob.log), last: h.cfg.FromSeq - 1}
	if order.Position != "" {
		_, err := fmt.Sscanf(order.Position, "%d/%d", &p.size, &p.last)
		if err != nil || p.Position() != order.Position || p.size < 0 || p.size > len(h.ob.log) {
			return nil, outbox.ConfigError("Position", order.Position, "is not a position of a replay of this outbox")
		}
	}
	for _, r := range h.ob.window(position{to: p.size}) {
		inside := r.Seq > p.last && (h.cfg.ToSeq == 0 || r.Seq <= h.cfg.ToSeq)
		if inside && topics.MatchAny(h.cfg.Topics, r.Topic) {
			p.records = append(p.records, r)
		}
	}
	first, end := p.Bounds()
	h.ob.note(admin.AuditEntry{Action: "replay"}, p.by, map[string]any{
		"from_seq": first, "to_seq": end - 1, "resumed": order.Position != "", "topics": h.cfg.Topics,
	})
	return p, ctx.Err()
}

var _ driver.Playback = (*playback)(nil)

// playback reads what had committed when it began.
type playback struct {
	ob      *Outbox
	by      admin.By
	size    int // a length of the log, up to which it reads
	last    int64
	records []outbox.Record
}

// Read implements driver.Playback.
func (p *playback) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := min(limit, len(p.records))
	page := p.records[:n:n]
	p.records = p.records[n:]
	if n > 0 {
		p.last = page[n-1].Seq
	}
	return page, nil
}

// Position implements driver.Playback.
func (p *playback) Position() string { return fmt.Sprintf("%d/%d", p.size, p.last) }

// PositionAfter implements driver.Playback.
func (p *playback) PositionAfter(r *outbox.Record) string { return fmt.Sprintf("%d/%d", p.size, r.Seq) }

// Bounds implements driver.Playback.
func (p *playback) Bounds() (first, end int64) {
	if len(p.records) == 0 {
		return p.last + 1, p.last + 1
	}
	return p.records[0].Seq, p.records[len(p.records)-1].Seq + 1
}

// End implements driver.Playback.
func (p *playback) End(ctx context.Context, e driver.ReplayEnd) error {
	p.ob.mu.Lock()
	defer p.ob.mu.Unlock()
	details := map[string]any{
		"sent": e.Sent, "skipped": e.Skipped, "gaps": e.Gaps, "last_seq": e.LastSeq, "position": e.Position, "done": e.Done,
	}
	if e.Err != nil {
		details["error"] = e.Err.Error()
	}
	p.ob.note(admin.AuditEntry{Action: "replay_end"}, p.by, details)
	return ctx.Err()
}

// Close implements driver.Playback.
func (p *playback) Close(context.Context) error { return nil }
