package pginbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
)

// retention is the operators' interface to the inbox's memory.
type retention struct {
	*ranges

	base         pgclaim.Admin
	sizes, lower string // statements
}

func newRetention(base pgclaim.Admin, cfg Config) (*retention, error) {
	where, err := newRanges(cfg, alarms{log: cfg.Logger})
	if err != nil {
		return nil, err
	}
	r := &retention{ranges: where, base: base}
	return r, sqlfile.Load(statementFiles, where.names.Render, map[string]*string{"range_sizes": &r.sizes, "range_lower": &r.lower})
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
			size.rows = -1 // it is being dropped right now
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

// madeFrom is madeAt, but zero for the id that stands for the beginning of time.
func madeFrom(id pgtype.UUID) time.Time {
	if !id.Valid || id.Bytes == [16]byte{} {
		return time.Time{}
	}
	return madeAt(id)
}

// lowerFloor implements admin.Retainer.
func (r *retention) lowerFloor(ctx context.Context, req admin.LowerFloorRequest) (previous time.Time, err error) {
	if err = admin.Complete(&req); err != nil {
		return previous, err
	}
	err = r.base.Use(ctx, "", func(conn *pgx.Conn, _ pgclaim.Asked) error {
		if req.DryRun {
			state, err := r.load(ctx, conn)
			if err != nil {
				return err
			}
			previous = madeFrom(state.floor)
			_, err = req.Check(time.UnixMilli(state.now), previous)
			return err
		}
		opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
		return pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(opts), func(tx pgx.Tx) error {
			previous, err = r.lowerIn(ctx, tx, req)
			return err
		})
	})
	return previous, err
}

// lowerIn lowers the floor under the lock of its row. Maintenance may be running, or may have
// paused since yesterday. Its outdated data does no harm: it raises a floor, contracts, and
// deletes rows only if the floor was not lowered in between, and it drops ranges by their names,
// which the surviving ranges have no longer.
func (r *retention) lowerIn(ctx context.Context, tx pgx.Tx, req admin.LowerFloorRequest) (previous time.Time, err error) {
	batch := &pgx.Batch{}
	batch.Queue("SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'")
	batch.Queue("SET LOCAL lock_timeout = '" + makeLockTimeout + "'")
	batch.Queue(r.lock)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return previous, err
	}
	state, err := r.load(ctx, tx)
	if err != nil {
		return previous, err
	}
	previous = madeFrom(state.floor)
	to, err := req.Check(time.UnixMilli(state.now), previous)
	if err != nil {
		return previous, err
	}
	floor := uuidAt(to.UnixMilli())
	if err := r.rename(ctx, tx, floor, state); err != nil {
		return previous, err
	}
	details, _ := json.Marshal(map[string]time.Time{"previous": previous, "to": to}) // times
	_, err = tx.Exec(ctx, r.lower, floor, req.Actor, req.Reason, string(req.Annotate(details)))
	return previous, err
}

// rename gives new names to the ranges that are above floor again. It waits for a process that is
// detaching one, and for the handlers that use it.
func (r *retention) rename(ctx context.Context, tx pgx.Tx, floor pgtype.UUID, was rangeState) error {
	again := func() (again []rangePart, err error) {
		all, err := r.parts(ctx, tx)
		return slices.DeleteFunc(all, func(p rangePart) bool {
			return !p.to.Valid || below(was.floor, p.to) || !below(floor, p.to)
		}), err
	}
	parts, err := again()
	for _, p := range parts {
		if err == nil && !p.pending {
			name := pgx.Identifier{r.tableAt(p.from, was.lowered+1)}.Sanitize()
			_, err = tx.Exec(ctx, "ALTER TABLE "+r.qualified(p.table)+" RENAME TO "+name)
		}
	}
	if err == nil {
		parts, err = again() // now with the locks of all, so that none can be detached
	}
	for _, p := range parts {
		if err == nil && p.pending {
			err = fmt.Errorf("leat: the floor is not lowered: range %s is about to be dropped: have maintenance do a round, and try again", p.table)
		}
	}
	return err
}
