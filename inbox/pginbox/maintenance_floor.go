package pginbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgerr"
)

// ahead creates the range of the present and the next ones.
func (r *maintenanceRound) ahead(ctx context.Context) error {
	if r.state.mode != modeRanges {
		return nil
	}
	return r.pool.Use(ctx, func(conn *pgx.Conn) error {
		width, ahead := r.cfg.Width.Milliseconds(), r.cfg.Ahead
		var published bool
		if err := conn.QueryRow(ctx, r.statements.published).Scan(&published); err != nil {
			return err
		}
		if published {
			ahead = max(ahead, aheadPublished)
		}
		for i := range int64(ahead) + 1 {
			at := uuidAt(r.state.now + i*width)
			if below(at, r.state.cutover) {
				continue
			}
			made, err := r.makeFor(ctx, conn, at)
			switch {
			case pgerr.Is(err, pgerr.DuplicateTable, pgerr.InvalidObjectDefinition):
				continue // another process was faster
			case err != nil:
				return err
			case made.Name != "":
				r.report.Added = append(r.report.Added, made.Name)
				r.log.InfoContext(ctx, "inbox range added", rangeAttr(made))
			}
		}
		return nil
	})
}

// aheadPublished is the least Ahead of an inbox that is copied to another database by publication. A range
// that is created during the copying does not exist there, and stops it.
const aheadPublished = 30

// raise lifts the floor to the time before Retention. That is committed before anything is
// forgotten.
//
// With ranges no claim has to read the floor. An id has one place, its range, until that is
// dropped; then its claim finds no range (23514), and only then reads the floor, by a statement
// that begins after the raise was committed. So a claim either meets the row of an earlier run,
// or finds no range and a floor above the id: the message is too old. A claim in progress in a
// range that is being detached holds a lock that the detach waits for; its id is forgotten with
// the rest, and is too old when it is redelivered.
func (r *maintenanceRound) raise(ctx context.Context) error {
	at := r.clock.Limit(r.report.Floor, time.UnixMilli(r.state.now).Add(-r.cfg.Retention)).UnixMilli()
	if r.state.mode == modeRanges {
		at = at / r.cfg.Width.Milliseconds() * r.cfg.Width.Milliseconds()
	}
	floor := uuidAt(at)
	err := r.change(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, r.statements.raise, floor, r.state.lowered).Scan(&floor)
		if errors.Is(err, pgx.ErrNoRows) { // it is higher, or was lowered
			r.state, err = r.load(ctx, tx)
			floor = r.state.floor
		}
		return err
	})
	if err != nil {
		r.setFloor(r.state.floor)
		return err
	}
	r.setFloor(floor)
	return nil
}

func (r *maintenanceRound) setFloor(floor pgtype.UUID) {
	r.state.floor = floor
	if floor.Bytes != [16]byte{} {
		r.report.Floor = madeAt(floor)
	}
}

// contract ends the use of the plain table for ids of version 7: when the cut-over is below the
// floor, those before it may be forgotten as well. First the constraint refuses all of them
// there; while it takes its lock, no claim of one is in progress. Then their rows can be deleted,
// since claims of their messages go to the ranges, find none, and are too old.
//
// It needs the right to alter tables, so without that right (NoDDL) Enable does it.
func (r *maintenanceRound) contract(ctx context.Context) error {
	if r.state.mode != modeRanges {
		return nil
	}
	done, err := r.Maintenance.contract(ctx, r.state)
	if done {
		r.state.cutover = uuidAt(0)
		r.swept = time.Time{} // so that this round deletes their rows
	}
	return err
}

// contract reports whether it has moved the cut-over.
func (m *Maintenance) contract(ctx context.Context, state rangeState) (bool, error) {
	if state.cutover == uuidAt(0) || below(state.floor, state.cutover) {
		return false, nil
	}
	done := false
	err := m.change(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.lock); err != nil {
			return err
		}
		now, err := m.load(ctx, tx)
		if err != nil || now.cutover != state.cutover || below(now.floor, now.cutover) { // the floor was lowered
			return err
		}
		done = true
		if _, err := tx.Exec(ctx, m.statements.guardDrop); err != nil {
			return err
		}
		if err := m.addGuard(ctx, tx, uuidAt(0)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, m.statements.switchTo, state.mode, uuidAt(0), true, m.cfg.Width.Milliseconds())
		return err
	})
	return done && err == nil, err
}
