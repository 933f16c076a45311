package pginbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgerr"
)

// ahead makes the ranges of the present and of what comes.
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
				continue // somebody else was quicker
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

// aheadPublished is the least Ahead of an inbox that is copied to another database by publication: a
// range that is made meanwhile is not there, and stops the copying.
const aheadPublished = 30

// raise lifts the floor to what is older than Retention. It is committed before
// anything is forgotten.
//
// With ranges no claim has to look at it. An id has one place, its range, until that
// is gone; then its claim finds no range (23514), and only then is the floor read, by a
// statement that begins after the raise was committed. So a claim either meets the row
// of its former run, or finds no range and a floor above it: it is too old. A claim that
// is under way in a range that is being detached holds a lock that the detaching waits
// for; what it commits is forgotten with the rest, and too old when it comes again.
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

// contract ends the time of the plain table: when the cut-over is below the floor, ids
// of version 7 before it may be forgotten as well. First the constraint refuses all of
// them there: with its lock no claim of one is under way. Then their rows can go, since
// their messages are sent to the ranges, find none, and are too old.
//
// It takes the right to alter tables, so if ranges are not dropped Enable does it.
func (r *maintenanceRound) contract(ctx context.Context) error {
	if r.state.mode != modeRanges {
		return nil
	}
	done, err := r.Maintenance.contract(ctx, r.state)
	if done {
		r.state.cutover = uuidAt(0)
		r.swept = time.Time{} // their rows go in this round
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
