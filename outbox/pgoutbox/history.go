package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Bound is one end of a stretch of history. The zero value is the oldest message
// that is retained, or, as the upper end, the newest that is committed.
type Bound struct {
	kind   boundKind
	time   time.Time
	number int64
}

type boundKind int

const (
	boundNone boundKind = iota
	boundTime
	boundSeq
	boundWindow
)

// AtTime bounds by the time of enqueueing, by the database's clock: from t on, and
// to before t.
func AtTime(t time.Time) Bound { return Bound{kind: boundTime, time: t} }

// AtSeq bounds by outbox.Record.Seq, the number included.
func AtSeq(seq int64) Bound { return Bound{kind: boundSeq, number: seq} }

// AtWindow bounds by a window of HistoryConfig.Group, included: what its relay has
// read in that window and after it, or until then. The last 64 windows are known.
func AtWindow(no int64) Bound { return Bound{kind: boundWindow, number: no} }

// HistoryConfig selects what is replayed. The zero value is all that is retained.
type HistoryConfig struct {
	// From and To are the ends. Both default to everything.
	From, To Bound

	// Group is the relay group whose windows From and To mean, and whose name the
	// audit gives.
	// Defaults to "default".
	Group string

	// Topics are patterns, in which * stands for any run of characters, of the topics
	// to replay; Keys and IDs are the keys and ids. What passes all that are given is
	// replayed.
	// Default to all.
	Topics, Keys, IDs []string
}

// History selects retained messages for replay.Run. It connects to nothing. A
// replay reads on one connection of its own, outside the pool, and holds no
// transaction open. It needs the privileges of a relay but for the leases, and
// INSERT on the audit.
func (o *Outbox) History(cfg HistoryConfig) (driver.History, error) {
	if cfg.Group == "" {
		cfg.Group = defaultGroup
	}
	if err := validateGroup(cfg.Group); err != nil {
		return nil, err
	}
	if err := validateTopics(cfg.Topics); err != nil {
		return nil, err
	}
	for name, b := range map[string]Bound{"From": cfg.From, "To": cfg.To} {
		if b.number < 0 || b.kind == boundTime && b.time.IsZero() {
			return nil, outbox.ConfigError(name, b.number, "must not be negative, nor the zero time")
		}
	}
	return &history{ob: o, cfg: cfg}, nil
}

// history is a driver.History.
type history struct {
	ob  *Outbox
	cfg HistoryConfig
}

// Begin implements driver.History.
func (h *history) Begin(ctx context.Context, order driver.ReplayOrder) (driver.Playback, error) {
	if err := h.ob.requireSchema(ctx); err != nil {
		return nil, unusable(err)
	}
	p := &playback{history: h, by: admin.By{Actor: order.Actor, Reason: order.Reason}}
	if err := p.connect(ctx); err != nil {
		return nil, unusable(describe(err))
	}
	err := h.begin(ctx, p, order)
	if err != nil {
		pglog.Close(ctx, p.pager.conn)
		return nil, unusable(describe(err))
	}
	return p, nil
}

func (h *history) begin(ctx context.Context, p *playback, order driver.ReplayOrder) error {
	var err error
	if order.Position == "" {
		p.at, err = h.settle(ctx, p.pager.conn, p.facts)
	} else {
		p.at, err = parsePlace(order.Position)
	}
	if err != nil {
		return err
	}
	if p.at.System != p.facts.SystemIdentifier {
		return fmt.Errorf("%w: a replay of %d, server is %d", pgwindow.ErrOtherCluster, p.at.System, p.facts.SystemIdentifier)
	}
	details, err := json.Marshal(map[string]any{
		"from_seq": p.at.Last + 1, "to_seq": p.at.End, "snapshot": p.at.Target, "resumed": order.Position != "",
		"topics": h.cfg.Topics, "keys": h.cfg.Keys, "ids": h.cfg.IDs,
	})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, h.ob.pool, func(tx pgx.Tx) error {
		return h.ob.held.Note(ctx, tx, h.cfg.Group, "replay", p.by, string(details))
	})
}

// settle decides what is replayed.
func (h *history) settle(ctx context.Context, conn *pgx.Conn, facts pgwindow.Facts) (place, error) {
	at := place{System: facts.SystemIdentifier}
	if err := conn.QueryRow(ctx, h.ob.sql.historyBegin, facts.Sequence).Scan(&at.Target, &at.End); err != nil {
		return place{}, err
	}
	var err error
	switch to := h.cfg.To; to.kind {
	case boundSeq:
		at.End = min(at.End, to.number)
	case boundWindow:
		_, at.Target, err = h.window(ctx, conn, to.number)
	case boundNone, boundTime:
	}
	if err != nil {
		return place{}, err
	}
	first := int64(1)
	switch from := h.cfg.From; from.kind {
	case boundSeq:
		first = from.number
	case boundTime:
		err = conn.QueryRow(ctx, h.ob.sql.historyFromTime, from.time, at.End).Scan(&first)
	case boundWindow:
		if at.Prev, _, err = h.window(ctx, conn, from.number); err == nil {
			err = conn.QueryRow(ctx, h.ob.sql.historyFromWindow, at.Prev, at.End).Scan(&first)
		}
	case boundNone:
	}
	at.Last = max(first-1, 0)
	if err == nil {
		err = h.retained(ctx, conn, &at)
	}
	return at, err
}

// window returns the snapshots of a window.
func (h *history) window(ctx context.Context, conn *pgx.Conn, no int64) (prev, target string, err error) {
	err = conn.QueryRow(ctx, h.ob.sql.historyWindow, h.cfg.Group, no).Scan(&prev, &target)
	if errors.Is(err, pgx.ErrNoRows) {
		err = outbox.ConfigError("AtWindow", no, "window of group "+strconv.Quote(h.cfg.Group)+" is not known any more, or not yet")
	}
	return prev, target, err
}

// uuids are the ids as the log has them.
func (h *history) uuids() []string {
	var all []string
	for _, text := range h.cfg.IDs {
		id, _ := ids.Map(text)
		all = append(all, ids.Text(id))
	}
	return all
}
