package wmforward

import (
	"context"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Probe implements pglog.Log.
func (t *table) Probe(ctx context.Context, w pgwindow.Window) (bool, *driver.Idle, error) {
	var standby, fresh bool
	err := t.conn.QueryRow(ctx, t.source.sql.probe, w.Target.Text).Scan(&standby, &fresh)
	if err == nil && standby {
		err = pgwindow.ErrStandby
	}
	return fresh, nil, err
}

// Open implements pglog.Log.
func (t *table) Open(ctx context.Context, w pgwindow.Window) (pgwindow.Window, error) {
	next, err := t.source.window.Open(ctx, t.conn, t.lease, w, 0)
	if err == nil {
		t.rest.reset()
	}
	next.Slots = 1
	return next, err
}

// Page implements pglog.Log. Rows that were deleted since the window was listed are skipped.
func (t *table) Page(ctx context.Context, at pglog.Place, limit int) (pglog.Rows, error) {
	for {
		if t.rest.read() {
			if t.rest.whole {
				return pglog.Rows{Last: at.Read, Whole: true}, nil
			}
			if err := t.list(ctx, at); err != nil {
				t.rest.reset() // an incomplete list is discarded
				return pglog.Rows{}, err
			}
			continue
		}
		records, taken, err := t.query(ctx, limit)
		if err != nil {
			return pglog.Rows{}, err
		}
		t.rest.at += taken
		at.Read = t.rest.numbers[t.rest.at-1]
		if len(records) > 0 {
			return pglog.Rows{Records: records, Last: at.Read, Whole: t.rest.whole && t.rest.read()}, nil
		}
	}
}
