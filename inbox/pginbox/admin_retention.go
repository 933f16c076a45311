package pginbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
)

// retention is what operators see of what the inbox remembers.
type retention struct {
	*ranges

	base  pgclaim.Admin
	sizes string // a statement
}

func newRetention(base pgclaim.Admin, cfg Config) (*retention, error) {
	where, err := newRanges(cfg, alarms{log: cfg.Logger})
	if err != nil {
		return nil, err
	}
	r := &retention{ranges: where, base: base}
	return r, sqlfile.Load(statementFiles, where.names.Render, map[string]*string{"range_sizes": &r.sizes})
}

// rangeSize is the size of a range.
type rangeSize struct {
	bytes, rows int64
}

func (r *retention) look(ctx context.Context) (admin.Retention, error) {
	var state rangeState
	var parts []rangePart
	sizes := map[string]rangeSize{}
	err := r.base.Use(ctx, "", func(conn *pgx.Conn, _ pgclaim.Asked) (err error) {
		if state, err = r.load(ctx, conn); err != nil {
			return err
		}
		if parts, err = r.parts(ctx, conn); err != nil {
			return err
		}
		rows, err := pgpin.On{DB: conn}.Query(ctx, r.sizes)
		if err != nil {
			return err
		}
		var table string
		var size rangeSize
		_, err = pgx.ForEachRow(rows, []any{&table, &size.bytes, &size.rows}, func() error {
			sizes[table] = size
			return nil
		})
		return err
	})
	if err != nil {
		return admin.Retention{}, err
	}
	return retentionOf(state, parts, sizes), nil
}

func retentionOf(state rangeState, parts []rangePart, sizes map[string]rangeSize) admin.Retention {
	kept := admin.Retention{Mode: admin.RetentionMode(state.mode), At: time.UnixMilli(state.now).UTC(), Cutover: madeFrom(state.cutover)}
	kept.Floor = madeFrom(state.floor)
	if !kept.Floor.IsZero() {
		kept.Kept = kept.At.Sub(kept.Floor)
	}
	if state.mode == modeRanges {
		kept.Width = time.Duration(state.width) * time.Millisecond
	}
	for _, p := range parts {
		size, there := sizes[p.table]
		if !there {
			size.rows = -1 // it is going just now
		}
		r := admin.RetentionRange{Name: p.table, From: madeFrom(p.from), Bytes: size.bytes, Estimate: size.rows}
		if p.to.Valid {
			r.To = madeAt(p.to)
		}
		kept.Ranges = append(kept.Ranges, r)
	}
	if state.mode == modeRanges && len(kept.Ranges) > 0 && kept.Kept > 0 && !kept.Ranges[0].To.IsZero() {
		kept.NextDrop = kept.Ranges[0].To.Add(kept.Kept)
	}
	return kept
}

// madeFrom is madeAt, and zero for an id that stands for the beginning of all times.
func madeFrom(id pgtype.UUID) time.Time {
	if !id.Valid || id.Bytes == [16]byte{} {
		return time.Time{}
	}
	return madeAt(id)
}
