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

// lead is the least time until the cut-over of an inbox with rows: longer than Enable takes to
// read the table, and longer than producers' clocks are ahead.
const lead = 2 * time.Hour

// Enable makes the inbox able to forget; Migrate comes first. It is called once, at any time,
// with consumers running, and does nothing when called again. An empty inbox remembers ids of
// version 7 in ranges from now on. In an inbox with rows, these stay where they are, and ids made
// before a cut-over some hours from now join them, until the cut-over is older than Retention. At
// any time the id alone decides its place, so no message runs twice on the way.
//
// A process of an older release continues to work until the cut-over; then a constraint refuses
// its claims of newer ids (SQLSTATE 23514), so that their messages are redelivered until a newer
// process gets them.
//
// Enable needs the right to create tables, and for a moment an exclusive lock on the plain table.
// It waits for that no longer than LockTimeout at a time, and fails with SQLSTATE 55P03 after
// several tries. If it fails half-way, another call of it, or Maintenance, finishes the work;
// until then, messages newer than the cut-over are refused.
//
// With NoDDL, call it once more when the cut-over is older than Retention: from then on
// maintenance also deletes the older ids of the plain table, which it keeps until then.
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

// guard adds the constraint that keeps newer ids out of the plain table. While it holds the lock,
// no transaction with a claim there is open, and all later claims meet the constraint. An empty
// table needs nothing more.
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

// finish makes sure that no newer id was stored before the constraint, and switches.
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

// backOut restores the former state.
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

// makeWhole creates the only range of an inbox that deletes.
func (m *Maintenance) makeWhole(ctx context.Context, tx pgx.Tx) error {
	if !m.cfg.NoDDL {
		return nil
	}
	return m.attach(ctx, tx, rangePart{table: m.tableAt(uuidAt(0), 0), from: uuidAt(0)})
}
