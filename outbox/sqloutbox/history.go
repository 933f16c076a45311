package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// HistoryConfig selects the messages to replay. The zero value selects everything that is
// retained.
type HistoryConfig struct {
	// FromSeq and ToSeq bound outbox.Record.Seq, both included; 0 means unbounded. Not
	// negative. Default to 0.
	FromSeq, ToSeq int64

	// Since and Until bound the time of enqueueing, by the database's clock: Since inclusive,
	// Until exclusive. Default to the zero time: no bound.
	Since, Until time.Time

	// Topics are patterns, in which * stands for any run of characters, of the topics to replay;
	// Keys and IDs are the keys and ids. Messages that match all given fields are replayed; each
	// field has at most 1,000 values. Default to all.
	Topics, Keys, IDs []string
}

func (c *HistoryConfig) validate() error {
	for name, seq := range map[string]int64{"FromSeq": c.FromSeq, "ToSeq": c.ToSeq} {
		if seq < 0 {
			return outbox.ConfigError(name, seq, "must not be negative")
		}
	}
	for name, texts := range map[string][]string{"Topics": c.Topics, "Keys": c.Keys, "IDs": c.IDs} {
		if err := validateTexts(name, texts); err != nil {
			return err
		}
	}
	return nil
}

// selects reports whether r is replayed.
func (c *HistoryConfig) selects(r *outbox.Record) bool {
	switch {
	case r.Shard < 0, !topics.MatchAny(c.Topics, r.Topic):
		return false
	case len(c.Keys) > 0 && !slices.Contains(c.Keys, r.Key), len(c.IDs) > 0 && !slices.Contains(c.IDs, r.ID):
		return false
	default:
		return !r.CreatedAt.Before(c.Since) && (c.Until.IsZero() || r.CreatedAt.Before(c.Until))
	}
}

// History selects retained messages for relay.Replay. It connects to nothing. A replay reads
// pages of the log, and holds neither a transaction nor a connection in between. It needs SELECT
// on all tables and INSERT on the audit.
func (o *Outbox) History(cfg HistoryConfig) (driver.History, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Topics, cfg.Keys, cfg.IDs = slices.Clone(cfg.Topics), slices.Clone(cfg.Keys), slices.Clone(cfg.IDs)
	return &history{ob: o, cfg: cfg}, nil
}

// history is a driver.History.
type history struct {
	ob  *Outbox
	cfg HistoryConfig
}

// Begin implements driver.History. Everything committed now is all rows up to a number except the
// missing ones: what they commit later is not part of the replay.
func (h *history) Begin(ctx context.Context, order driver.ReplayOrder) (driver.Playback, error) {
	o := h.ob
	p := &playback{history: h}
	err := o.log.Change(ctx, func(tx *sql.Tx) error {
		var err error
		if p.instance, err = o.log.Life(ctx, tx); err != nil {
			return err
		}
		if order.Position == "" {
			p.at, err = h.settle(ctx, tx)
		} else {
			p.at, err = parsePlace(order.Position, p.instance)
		}
		if err != nil {
			return err
		}
		details, err := json.Marshal(map[string]any{
			"from_seq": p.at.done + 1, "to_seq": p.at.Last, "resumed": order.Position != "",
			"topics": h.cfg.Topics, "keys": h.cfg.Keys, "ids": h.cfg.IDs,
		})
		if err != nil {
			return err
		}
		p.by = admin.By{Actor: order.Actor, Reason: order.Reason}
		return o.log.Note(ctx, tx, &admin.AuditEntry{Action: "replay", Actor: order.Actor, Reason: order.Reason, Details: details})
	})
	return p, err
}

// settle fixes the set of messages to replay. A requested first number stays the first, even if
// it is no longer retained: the first Read reports that.
func (h *history) settle(ctx context.Context, q sqlstore.Querier) (place, error) {
	end, err := h.ob.log.Last(ctx, q)
	if h.cfg.ToSeq > 0 {
		end = min(end, h.cfg.ToSeq)
	}
	at, err := h.ob.log.Committed(ctx, q, end, err)
	if err != nil {
		return place{}, err
	}
	floor, err := h.ob.log.Floor(ctx, q)
	if h.cfg.FromSeq > 0 {
		floor = h.cfg.FromSeq - 1
	}
	return place{Position: at, done: floor}, err
}

var _ driver.Playback = (*playback)(nil)

// playback is a driver.Playback.
type playback struct {
	history  *history
	instance string
	by       admin.By
	at       place
}

// place is the progress of a playback. Everything up to done is sent; the rest of what position has seen is
// still to send.
type place struct {
	sqllog.Position

	done int64
}

// Read implements driver.Playback.
func (p *playback) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	var found []outbox.Record
	for len(found) == 0 && p.at.done < p.at.Last {
		var raw sqllog.RawPage
		var floor int64
		err := p.history.ob.log.Look(ctx, func(q sqlstore.Querier) (err error) {
			raw, err = p.history.ob.log.ReadRows(ctx, q, limit, p.history.ob.log.SQL["history_page"], p.at.done, p.at.Last, limit)
			return err
		})
		if err == nil { // after the page, in a separate view: what is above the floor then existed before
			err = p.history.ob.log.Look(ctx, func(q sqlstore.Querier) (err error) {
				floor, err = p.history.ob.log.Floor(ctx, q)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
		if floor > p.at.done {
			gap := &driver.HistoryGapError{From: p.at.done + 1, To: min(floor, p.at.Last)}
			p.at.done = gap.To
			return nil, gap
		}
		for i := range raw.Records {
			if r := &raw.Records[i]; !p.at.Misses(r.Seq) && p.history.cfg.selects(r) {
				found = append(found, *r)
			}
		}
		if raw.Full {
			p.at.done = raw.Records[len(raw.Records)-1].Seq
		} else {
			p.at.done = p.at.Last
		}
	}
	return found, nil
}

// Position implements driver.Playback.
func (p *playback) Position() string { return p.at.text(p.instance) }

// PositionAfter implements driver.Playback.
func (p *playback) PositionAfter(r *outbox.Record) string {
	at := p.at
	at.done = r.Seq
	return at.text(p.instance)
}

// Bounds implements driver.Playback. They ignore an upper bound by time, which would require a
// search.
func (p *playback) Bounds() (first, end int64) {
	return min(p.at.done, p.at.Last) + 1, p.at.Last + 1
}

// End implements driver.Playback.
func (p *playback) End(ctx context.Context, e driver.ReplayEnd) error {
	details := map[string]any{
		"sent": e.Sent, "skipped": e.Skipped, "gaps": e.Gaps, "last_seq": e.LastSeq, "position": e.Position, "done": e.Done,
	}
	if e.Err != nil {
		details["error"] = storable.AtMost(e.Err.Error(), maxAuditError)
	}
	o := p.history.ob
	return o.log.Change(ctx, func(tx *sql.Tx) error {
		return o.noteBy(ctx, tx, &admin.AuditEntry{Action: "replay_end"}, p.by, details)
	})
}

// maxAuditError bounds the text of an error in the audit, in bytes.
const maxAuditError = 2000

// Close implements driver.Playback.
func (p *playback) Close(context.Context) error { return nil }

func (p place) text(instance string) string {
	return fmt.Sprintf("1/%s/%d/%d/%s/.", instance, p.done, p.Last, sqllog.EncodeGaps(p.Gaps))
}

func parsePlace(text, instance string) (place, error) {
	bad := outbox.ConfigError("Position", strconv.Quote(text), "is not a position of a replay of this outbox")
	parts := strings.Split(text, "/")
	if len(parts) != 6 || parts[0] != "1" || parts[1] != instance || parts[5] != "." {
		return place{}, bad
	}
	done, err1 := strconv.ParseInt(parts[2], 10, 64)
	last, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || done < 0 || last < 0 {
		return place{}, bad
	}
	at, err := sqllog.ParsePosition(last, parts[4])
	if err != nil {
		return place{}, bad
	}
	return place{Position: at, done: done}, nil
}
