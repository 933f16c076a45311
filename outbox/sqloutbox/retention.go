package sqloutbox

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

const (
	// closedARound bounds the numbers that one round of retention closes.
	closedARound = 10_000
	// hopelesslyWide is a gap that would take retention hours to close, and is left.
	hopelesslyWide = 1_000_000
)

// retain deletes what is old and settled by all groups, and prunes.
func (m *Maintenance) retain(ctx context.Context) (report MaintenanceReport, err error) {
	if m.cfg.MaxAge > 0 {
		floor, err := m.raiseFloor(ctx, &report)
		if err == nil {
			err = m.deleteBelow(ctx, floor, &report)
		}
		if err != nil {
			return report, err
		}
	}
	for statement, keep := range map[string]time.Duration{"prune_audit": m.cfg.KeepAudit, "prune_dead": m.cfg.KeepDead} {
		if keep == 0 {
			continue
		}
		err := m.ob.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, m.ob.sql[statement], keep.Microseconds())
			return err
		})
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// raiseFloor stores up to where may be deleted: below the first message that is young, and
// below the first number that a group has not settled. Such a number may belong to a
// transaction that is still open; what it commits would be deleted before it was read. So
// gaps that are in the way are closed, and passed once the groups have seen that.
//
// The floor is committed before anything is deleted: who begins below it knows.
func (m *Maintenance) raiseFloor(ctx context.Context, report *MaintenanceReport) (floor int64, err error) {
	o := m.ob
	var gaps []span
	err = o.change(ctx, func(tx *sql.Tx) error {
		gaps, report.PinnedBy = nil, nil
		// The lock of the floor first: of rounds of several processes, one at a time.
		if err := tx.QueryRowContext(ctx, o.sql["floor_lock"]).Scan(&floor); err != nil {
			return err
		}
		groups, err := o.groups(ctx, tx)
		if err != nil || len(groups) == 0 {
			return err
		}
		old, err := m.oldUpTo(ctx, tx, floor)
		if err != nil {
			return err
		}
		to := old
		for i := range groups {
			g := &groups[i]
			g.at = g.at.from(floor) // of a group that retention has passed
			low := g.at.low()
			if low >= old {
				continue
			}
			exempt, err := m.exempt(ctx, tx, g)
			if err != nil {
				return err
			}
			if exempt {
				continue
			}
			to = min(to, low)
			report.PinnedBy = append(report.PinnedBy, g.name)
			if before := g.at.upTo(old).gaps; len(gaps) == 0 {
				gaps = before
			}
		}
		if to <= floor {
			return nil
		}
		floor = to
		_, err = tx.ExecContext(ctx, o.sql["floor_raise"], floor)
		return err
	})
	if err != nil {
		return 0, err
	}
	return floor, m.closeOld(ctx, gaps, report)
}

// oldUpTo returns the last number before the first message that is too young to go.
func (m *Maintenance) oldUpTo(ctx context.Context, q querier, floor int64) (int64, error) {
	now, err := m.ob.now(ctx, q)
	if err != nil {
		return 0, err
	}
	var first sql.NullInt64
	err = q.QueryRowContext(ctx, m.ob.sql["number_since"], floor, now.Add(-m.cfg.MaxAge).UnixMicro()).Scan(&first)
	if isNoRows(err) {
		return m.ob.last(ctx, q)
	}
	return first.Int64 - 1, err
}

// exempt reports whether a group has fallen behind so far that it no longer holds history
// back: by the first row above all that it has read. Rows below are settled, or had not been
// committed when they were passed: such a one can be old, and visible for a moment only.
func (m *Maintenance) exempt(ctx context.Context, q querier, g *groupState) (bool, error) {
	if g.maxLag == 0 {
		return false, nil
	}
	var created int64
	var seq int64
	err := q.QueryRowContext(ctx, m.ob.sql["number_after"], g.at.last).Scan(&seq, &created)
	if isNoRows(err) {
		return false, nil
	}
	return g.now.Sub(micros(created)) > g.maxLag, err
}

// closeOld closes gaps that retention has come to. A wide one takes several rounds; one
// that is hopelessly wide, an operator has to pass.
func (m *Maintenance) closeOld(ctx context.Context, gaps []span, report *MaintenanceReport) error {
	left := int64(closedARound)
	for _, g := range gaps {
		if wide := g.to - g.from; wide > hopelesslyWide {
			m.ob.cfg.Logger.WarnContext(ctx, "retention stands before a wide gap of the log: has the counter been set?",
				slog.Int64("from", g.from), slog.Int64("to", g.to))
			continue
		}
		g.to = min(g.to, g.from+left-1)
		if g.to < g.from {
			return nil
		}
		left -= g.to - g.from + 1
		err := m.ob.change(ctx, func(tx *sql.Tx) error {
			closed, err := m.ob.closeGap(ctx, tx, g)
			if closed {
				report.Closed += g.to - g.from + 1
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteBelow deletes up to the floor, at the head of the log: readers begin behind it.
func (m *Maintenance) deleteBelow(ctx context.Context, floor int64, report *MaintenanceReport) error {
	statement := "delete"
	if m.ob.dialect.OneWriter {
		statement = "delete_file"
	}
	for ctx.Err() == nil {
		var n int64
		err := m.ob.change(ctx, func(tx *sql.Tx) error {
			bound, err := numbers(ctx, tx, m.ob.sql["delete_bound"], floor, m.cfg.DeleteChunk)
			if err != nil || len(bound) == 0 {
				n = 0
				return err
			}
			n, err = affected(tx.ExecContext(ctx, m.ob.sql[statement], bound[len(bound)-1], len(bound)))
			return err
		})
		if err != nil {
			return err
		}
		report.Deleted += n
		if n < int64(m.cfg.DeleteChunk) {
			return nil
		}
	}
	return ctx.Err()
}
