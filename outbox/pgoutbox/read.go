package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// largeBacklog is the number of records from which a transaction to avoid walking them twice pays
// off.
const largeBacklog = 100_000

// Probe implements pglog.Log.
func (l *slotLog) Probe(ctx context.Context, w pgwindow.Window) (bool, *driver.Idle, error) {
	ob, asked := l.source.ob, time.Now()
	due := ob.delays.awaited()
	probe, beside, err := ob.chain.Probe(ctx, l.conn, l.facts, l.lease.Slot.Group, w, due)
	if err != nil {
		return false, nil, err
	}
	l.probe, l.changing = probe, beside.Changing
	if due {
		ob.delays.note(asked, beside.Due)
	}
	return probe.New(w) || beside.Changing, &driver.Idle{NoneHeld: beside.NoneHeld, Paused: beside.Paused}, nil
}

// Open implements pglog.Log. If there is one slot, and will be one, it does not share the chain.
func (l *slotLog) Open(ctx context.Context, w pgwindow.Window) (pgwindow.Window, error) {
	ob, f := l.source.ob, l.probe.Sequence
	if f-w.SourceFloor > largeBacklog {
		if err := ob.window.Raise(ctx, l.conn, l.lease, w.No, f); err != nil {
			return pgwindow.Window{}, err
		}
	}
	if l.slots > 1 || l.changing {
		return ob.chain.Next(ctx, l.conn, l.lease, w, f)
	}
	return ob.chain.Open(ctx, l.conn, l.lease, w, f)
}

// Page implements pglog.Log. First come the rows of transactions that were open when the window
// began, at or below its floor (phase B), then those above (phase A). Only a page that is not
// full ends a phase.
func (l *slotLog) Page(ctx context.Context, at pglog.Place, limit int) (pglog.Rows, error) {
	w := &at.Window
	if at.Read < w.Floor {
		if w.HasEarly() {
			sql, args := l.early(at, limit)
			records, full, err := l.query(ctx, limit, sql, args...)
			if err != nil || full {
				return pglog.Rows{Records: records, Last: lastSeq(records, at.Read), Free: l.decoder.free()}, err
			}
			if len(records) > 0 {
				return pglog.Rows{Records: records, Last: w.Floor}, nil
			}
		}
		at.Read = w.Floor
	}
	if at.Whole {
		return pglog.Rows{Last: at.Read, Whole: true}, nil
	}
	sql, args := l.late(at, limit)
	records, full, err := l.query(ctx, limit, sql, args...)
	return pglog.Rows{Records: records, Last: lastSeq(records, at.Read), Whole: !full, Free: l.decoder.free()}, err
}

func lastSeq(records []outbox.Record, otherwise int64) int64 {
	if len(records) == 0 {
		return otherwise
	}
	return records[len(records)-1].Seq
}
