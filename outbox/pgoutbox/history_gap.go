package pgoutbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// A playback begins at the first existing message, or after an existing one. As long as there is
// a message at or below the next number, retention has not overtaken it: retention removes the
// oldest first.

// retained moves the start of a playback up to the first retained message, unless a number was
// requested whose range is gone.
func (h *history) retained(ctx context.Context, conn *pgx.Conn, at *place) error {
	if h.cfg.FromSeq > 0 {
		parts, err := partsOf(ctx, conn, h.ob.sql.ranges)
		if err != nil || len(parts) > 0 && parts[0].From > at.Last+1 {
			return err // the first Read reports it
		}
	}
	nearest, err := h.before(ctx, conn, at.Last+1)
	switch {
	case err != nil:
		return err
	case nearest == nil:
		at.Last = max(at.Last, at.End)
	default:
		at.Last = max(at.Last, *nearest-1)
	}
	return nil
}

// before returns the number of the nearest message at or below seq, or else of the first
// above it, or nil.
func (h *history) before(ctx context.Context, conn *pgx.Conn, seq int64) (nearest *int64, err error) {
	err = conn.QueryRow(ctx, h.ob.sql.historyBefore, seq).Scan(&nearest)
	return nearest, err
}

// complete returns a *driver.HistoryGapError if retention has overtaken the playback, which then
// continues after the gap. It is called after the read. It is unknown whether the read came
// before the drop, so everything that was dropped counts as missing. See design 10.7.
func (p *playback) complete(ctx context.Context) error {
	next := p.at.Last + 1
	nearest, err := p.history.before(ctx, p.pager.conn, next)
	if err != nil || nearest != nil && *nearest <= next {
		return err
	}
	gap := &driver.HistoryGapError{From: next, To: p.at.End}
	if nearest != nil {
		gap.To = min(gap.To, *nearest-1)
	}
	p.at.Last = gap.To
	return gap
}
