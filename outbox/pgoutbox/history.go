package pgoutbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
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

	// FromWindow and ToWindow bound by windows of Group, both included: what its relay has read
	// from FromWindow on, and up to ToWindow; 0 means unbounded. The last 64 windows are known.
	// Not negative. Default to 0.
	FromWindow, ToWindow int64

	// Group is the relay group of these windows, and of the audit entries. Defaults to "default".
	Group string

	// Topics are patterns, in which * stands for any run of characters, of the topics to replay;
	// Keys and IDs are the keys and ids. Messages that match all given fields are replayed.
	// Default to all.
	Topics, Keys, IDs []string
}

// History selects retained messages for relay.Replay. It connects to nothing. A replay reads on
// its own connection, outside the pool, and holds no transaction open. It needs the privileges of
// a relay except for the leases, and INSERT on the audit.
func (o *Outbox) History(cfg HistoryConfig) (driver.History, error) {
	cfg.Group = cmp.Or(cfg.Group, defaultGroup)
	if err := validateGroup(cfg.Group); err != nil {
		return nil, err
	}
	if err := validateTopics(cfg.Topics); err != nil {
		return nil, err
	}
	for name, no := range map[string]int64{"FromSeq": cfg.FromSeq, "ToSeq": cfg.ToSeq, "FromWindow": cfg.FromWindow, "ToWindow": cfg.ToWindow} {
		if no < 0 {
			return nil, outbox.ConfigError(name, no, "must not be negative")
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
	if err := p.belongs(); err != nil {
		return err
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

// settle fixes the set of messages to replay.
func (h *history) settle(ctx context.Context, conn *pgx.Conn, facts pgwindow.Facts) (place, error) {
	at := place{System: facts.SystemIdentifier}
	var foreign bool
	err := conn.QueryRow(ctx, h.ob.sql.historyBegin, facts.Sequence).Scan(&at.Target, &at.End, &foreign)
	if err == nil && foreign {
		err = basis.Refuse(basis.ErrOtherCluster, "the log has messages with its transaction ids, which would be left out")
	}
	if err != nil {
		return place{}, err
	}
	if h.cfg.ToSeq > 0 {
		at.End = min(at.End, h.cfg.ToSeq)
	}
	if h.cfg.ToWindow > 0 {
		if _, at.Target, err = h.window(ctx, conn, h.cfg.ToWindow); err != nil {
			return place{}, err
		}
	}
	first := max(h.cfg.FromSeq, 1)
	if !h.cfg.Since.IsZero() {
		var from int64
		err = conn.QueryRow(ctx, h.ob.sql.historyFromTime, h.cfg.Since, at.End).Scan(&from)
		first = max(first, from)
	}
	if err == nil && h.cfg.FromWindow > 0 {
		var from int64
		if at.Prev, _, err = h.window(ctx, conn, h.cfg.FromWindow); err == nil {
			err = conn.QueryRow(ctx, h.ob.sql.historyFromWindow, at.Prev, at.End).Scan(&from)
		}
		first = max(first, from)
	}
	at.Last = first - 1
	if err == nil {
		err = h.retained(ctx, conn, &at)
	}
	return at, err
}

// window returns the snapshots of a window.
func (h *history) window(ctx context.Context, conn *pgx.Conn, no int64) (prev, target string, err error) {
	err = conn.QueryRow(ctx, h.ob.sql.historyWindow, h.cfg.Group, no).Scan(&prev, &target)
	if errors.Is(err, pgx.ErrNoRows) {
		err = outbox.ConfigError("window", no, "window of group "+strconv.Quote(h.cfg.Group)+" is not known any more, or not yet")
	}
	return prev, target, err
}

// uuids are the ids as stored in the log.
func (h *history) uuids() []string {
	var all []string
	for _, text := range h.cfg.IDs {
		id, _ := ids.Map(text)
		all = append(all, ids.Text(id))
	}
	return all
}
