package pginbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgerr"
)

// lead is how far ahead the cut-over of an inbox with rows is, at least: longer than
// Enable takes to read the table and than producers' clocks are ahead.
const lead = 2 * time.Hour

// Enable makes the inbox able to forget; Migrate comes first. It is called once, at any
// time, with consumers running, and does nothing when called again. An empty inbox
// remembers ids of version 7 in ranges from now on. In one with rows those stay where
// they are and so do all that are made before a cut-over some hours from now, until
// the cut-over is older than Retention. Which place an id has is decided by the id
// alone at any time, so none runs twice on the way.
//
// A process of an older release goes on as well until the cut-over; then its claims
// of newer ids are refused by a constraint (SQLSTATE 23514), so that their messages are
// redelivered until a newer process takes them.
//
// Enable needs the right to create tables, and for a moment the plain table to itself:
// it waits no longer than LockTimeout at a time, and fails with SQLSTATE 55P03 after
// several waits in vain. If it fails half-way it goes on when it is called again, or
// with Maintenance; should that not happen before the cut-over, newer messages are
// refused until it does.
//
// With NoDDL, call it once more when the cut-over is older than Retention: from then on
// maintenance deletes the older ids of the plain table too, which it keeps until then.
func (m *Maintenance) Enable(ctx context.Context) error {
	if err := m.enable(ctx); err != nil {
		return fmt.Errorf("leat: enable retention of the inbox: %w", pgclaim.Explain(err))
	}
	return nil
}

func (m *Maintenance) enable(ctx context.Context) error {
	state, err := m.load(ctx, m.pool)
	if err != nil {
		return err
	}
	if state.mode == modeOff {
		if state, err = m.guard(ctx, state); err != nil {
			return err
		}
	}
	if state.mode == modePending {
		return m.finish(ctx, state)
	}
	_, err = m.contract(ctx, state)
	return err
}

// guard puts up the constraint that keeps newer ids out of the plain table. With the
// lock that it takes there is no transaction open that has claimed anything there, and
// whoever claims after it meets the constraint. An empty table needs nothing more.
func (m *Maintenance) guard(ctx context.Context, state rangeState) (rangeState, error) {
	newest := pgtype.UUID{}
	if err := m.pool.QueryRow(ctx, m.statements.newest).Scan(&newest); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return state, err
	}
	width := m.cfg.Width.Milliseconds()
	ahead := state.now + max(lead, m.maxAhead).Milliseconds()
	if newest.Valid && ids.Millis(newest.Bytes) >= ahead {
		return state, fmt.Errorf("%w: %s, made at %s", errIDsAhead, ids.Text(newest.Bytes), madeAt(newest).Format(time.RFC3339))
	}
	err := m.change(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.lock); err != nil { // one at a time
			return err
		}
		var err error
		if state, err = m.load(ctx, tx); err != nil || state.mode != modeOff {
			return err
		}
		if _, err := tx.Exec(ctx, "LOCK TABLE "+m.names.Qualified("")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		var used bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+m.names.Qualified("")+") WHERE "+pgerr.Primary).Scan(&used); err != nil {
			return err
		}
		state.mode, state.cutover, state.legacy = modePending, uuidAt(0), used
		if used {
			state.cutover = uuidAt((ahead/width + 1) * width)
		}
		if err := m.addGuard(ctx, tx, state.cutover); err != nil {
			return err
		}
		if !used {
			state.mode = m.mode()
			if err := m.makeWhole(ctx, tx); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, m.statements.switchTo, state.mode, state.cutover, used, width)
		return err
	})
	return state, err
}

func (m *Maintenance) addGuard(ctx context.Context, tx pgx.Tx, cutover pgtype.UUID) error {
	_, err := tx.Exec(ctx, strings.ReplaceAll(m.statements.guardAdd, "{cutover}", ids.Text(cutover.Bytes)))
	return err
}

// finish makes sure that no newer id had come before the constraint, and switches.
func (m *Maintenance) finish(ctx context.Context, state rangeState) error {
	if _, err := m.pool.Exec(ctx, m.statements.guardCheck); err != nil {
		if !pgerr.Is(err, pgerr.CheckViolation) {
			return err
		}
		return errors.Join(fmt.Errorf("%w: %w", errIDsAhead, err), m.change(ctx, func(tx pgx.Tx) error { return m.backOut(ctx, tx) }))
	}
	return m.change(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.lock); err != nil {
			return err
		}
		now, err := m.load(ctx, tx)
		if err != nil || now.mode != modePending {
			return err
		}
		if err := m.makeWhole(ctx, tx); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, m.statements.switchTo, m.mode(), state.cutover, true, m.cfg.Width.Milliseconds())
		return err
	})
}

// backOut leaves everything as it was.
func (m *Maintenance) backOut(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, m.statements.guardDrop); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, m.statements.switchTo, modeOff, nil, false, m.cfg.Width.Milliseconds())
	return err
}

func (m *Maintenance) mode() string {
	if m.cfg.NoDDL {
		return modeDelete
	}
	return modeRanges
}

// makeWhole makes the one range of an inbox that deletes.
func (m *Maintenance) makeWhole(ctx context.Context, tx pgx.Tx) error {
	if !m.cfg.NoDDL {
		return nil
	}
	return m.attach(ctx, tx, rangePart{table: m.tableAt(uuidAt(0), 0), from: uuidAt(0)})
}
