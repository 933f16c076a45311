package sqloutbox

import (
	"context"
	"database/sql"
	"log/slog"
	"math"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

const (
	// closedARound bounds the numbers that one round of retention closes.
	closedARound = 10_000
	// hopelesslyWide is the width of a gap that would take retention hours to close, and is left.
	hopelesslyWide = 1_000_000
	// prunedAtOnce is the number of rows outside the log that one transaction deletes.
	prunedAtOnce = 500
)

// retain deletes what is old and settled by all groups, prunes, and raises alarms.
func (m *Maintenance) retain(ctx context.Context) (report admin.MaintenanceReport, err error) {
	defer func() {
		report.Alarms = m.alarms.Clock(ctx, outbox.AlarmEvent{Package: "sqloutbox", Kind: AlarmClock}, err)
	}()
	if err := m.ob.checkPrimary(ctx); err != nil {
		return report, err
	}
	if err := m.trustClock(ctx); err != nil {
		return report, err
	}
	if m.cfg.Retention > 0 {
		floor, err := m.raiseFloor(ctx, &report)
		if err == nil {
			err = m.deleteBelow(ctx, floor, &report)
		}
		if err != nil {
			return report, err
		}
	}
	if err := m.prune(ctx, m.cfg.KeepAudit, "prune_audit", "audit_delete"); err != nil {
		return report, err
	}
	return report, m.prune(ctx, m.cfg.KeepDead, "prune_dead", "dead_delete")
}

// trustClock returns an error if the database's clock is not trusted for irreversible changes. It
// records the progress of the log by our clock.
func (m *Maintenance) trustClock(ctx context.Context) error {
	var now time.Time
	var last int64
	err := m.ob.log.Look(ctx, func(q sqlstore.Querier) (err error) {
		if last, err = m.ob.log.Last(ctx, q); err == nil {
			now, err = m.ob.log.Now(ctx, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	m.clock.Number(last)
	return m.clock.Look(now)
}

// prune deletes what is older than keep: the rows that a statement selects, one by one, a
// page in a transaction.
func (m *Maintenance) prune(ctx context.Context, keep time.Duration, old, remove string) error {
	log := m.ob.log
	for more := keep > 0; more; {
		err := log.Change(ctx, func(tx *sql.Tx) error {
			var found [][]any
			err := sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
				var group []byte
				var number int64
				err := scan(&group, &number)
				found = append(found, []any{group, number})
				return err
			}, log.SQL[old], keep.Microseconds(), prunedAtOnce)
			for i := 0; err == nil && i < len(found); i++ {
				_, err = log.Exec(ctx, tx, remove, found[i]...)
			}
			more = len(found) == prunedAtOnce
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// raiseFloor stores the number up to which rows may be deleted: below the first young message,
// and below the first number that a group has not settled. Such a number may belong to a
// transaction that is still open; what it commits would be deleted before it was read. So gaps in
// the way are closed, and passed once the groups have seen that.
//
// The floor is committed before anything is deleted, so that a reader that begins below it
// notices.
func (m *Maintenance) raiseFloor(ctx context.Context, report *admin.MaintenanceReport) (floor int64, err error) {
	o := m.ob
	var gaps []sqllog.Span
	err = o.log.Change(ctx, func(tx *sql.Tx) error {
		gaps, report.PinnedBy = nil, nil
		// The lock of the floor comes first: rounds of several processes run one at a time.
		if err := tx.QueryRowContext(ctx, o.log.SQL["floor_lock"]).Scan(&floor); err != nil {
			return err
		}
		if _, err := o.log.Life(ctx, tx); err != nil {
			return err // the floor and all positions belong to another log
		}
		groups, err := o.log.Groups(ctx, tx)
		if err != nil || len(groups) == 0 {
			return err
		}
		old, err := m.oldUpTo(ctx, tx, floor)
		if err != nil {
			return err
		}
		old = min(old, m.clock.Younger(m.cfg.Retention))
		to := old
		for i := range groups {
			g := &groups[i]
			g.At = g.At.From(floor) // retention may have passed the group
			low := g.At.Low()
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
			report.PinnedBy = append(report.PinnedBy, g.Name)
			if before := g.At.UpTo(old).Gaps; len(gaps) == 0 {
				gaps = before
			}
		}
		if to <= floor {
			return nil
		}
		floor = to
		_, err = tx.ExecContext(ctx, o.log.SQL["floor_raise"], floor)
		return err
	})
	if err != nil {
		return 0, err
	}
	return floor, m.closeOld(ctx, gaps, report)
}

// oldUpTo returns the last number before the first message that is too young to delete.
//
// Any program that may INSERT sets the time of a message. A time in the future does not hold back
// later messages: such a message counts as old if a later one is.
func (m *Maintenance) oldUpTo(ctx context.Context, q sqlstore.Querier, floor int64) (int64, error) {
	now, err := m.ob.log.Now(ctx, q)
	if err != nil {
		return 0, err
	}
	since := now.Add(-m.cfg.Retention).UnixMicro()
	first, err := m.number(ctx, q, "number_since", floor, since)
	switch {
	case err != nil:
		return 0, err
	case first == math.MaxInt64:
		return m.ob.log.Last(ctx, q)
	}
	young, err := m.number(ctx, q, "retain_young", first, since, now.UnixMicro())
	if err != nil || young == first {
		return first - 1, err
	}
	old, err := m.number(ctx, q, "retain_old", first, young, since)
	if err != nil || old == math.MaxInt64 {
		return first - 1, err
	}
	return old, nil
}

// number returns the number that a statement finds, or the largest number if it finds none.
func (m *Maintenance) number(ctx context.Context, q sqlstore.Querier, statement string, args ...any) (n int64, err error) {
	err = q.QueryRowContext(ctx, m.ob.log.SQL[statement], args...).Scan(&n)
	if sqlstore.IsNoRows(err) {
		return math.MaxInt64, nil
	}
	return n, err
}

// exempt reports whether a group has fallen behind so far that it no longer holds history back:
// by the first row above everything that it has read. Rows below are settled, or were not
// committed when they were passed: such a row can be old, although it has just become visible.
func (m *Maintenance) exempt(ctx context.Context, q sqlstore.Querier, g *sqllog.GroupState) (bool, error) {
	if g.MaxLag == 0 {
		return false, nil
	}
	var seq int64
	var created sqllog.Micros
	err := q.QueryRowContext(ctx, m.ob.log.SQL["number_after"], g.At.Last).Scan(&seq, &created)
	if sqlstore.IsNoRows(err) {
		err = nil
	} else if err == nil && g.Now.Sub(created.Time()) > g.MaxLag && seq <= m.clock.Younger(g.MaxLag) {
		return m.isLate(ctx, q, g)
	}
	delete(m.late, g.Name)
	return false, err
}

// mark is a number of the log that was committed at a time.
type mark struct {
	number int64
	at     time.Time
}

// isLate reports whether a group whose first row is old has had its time to read it. A row whose
// transaction was open for long is old when it is committed. So if a relay leads, only rows that
// were committed by an earlier round count.
func (m *Maintenance) isLate(ctx context.Context, q sqlstore.Querier, g *sqllog.GroupState) (bool, error) {
	if g.Left <= 0 {
		return true, nil
	}
	seen, marked := m.late[g.Name]
	switch {
	case !marked || g.At.Last >= seen.number:
		end, err := m.ob.log.Last(ctx, q)
		m.late[g.Name] = mark{end, g.Now}
		return false, err
	default:
		return g.Now.Sub(seen.at) >= min(g.MaxLag, m.cfg.Interval), nil
	}
}

// closeOld closes gaps that retention has reached. A wide one takes several rounds; one that is
// hopelessly wide must be passed by an operator.
func (m *Maintenance) closeOld(ctx context.Context, gaps []sqllog.Span, report *admin.MaintenanceReport) error {
	left := int64(closedARound)
	for _, g := range gaps {
		if wide := g.To - g.From; wide > hopelesslyWide {
			m.ob.cfg.Logger.WarnContext(ctx, "retention stands before a wide gap of the log: has the counter been set?",
				slog.Int64("from_seq", g.From), slog.Int64("to_seq", g.To))
			continue
		}
		g.To = min(g.To, g.From+left-1)
		if g.To < g.From {
			return nil
		}
		left -= g.To - g.From + 1
		err := m.ob.log.Change(ctx, func(tx *sql.Tx) error {
			if _, err := m.ob.log.Life(ctx, tx); err != nil {
				return err // the gap belongs to another log
			}
			closed, err := m.ob.log.CloseGaps(ctx, tx, []sqllog.Span{g})
			if closed {
				report.Gaps += g.To - g.From + 1
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteBelow deletes up to the floor, at the head of the log: readers begin after it. The newest
// row stays, so that the counter cannot be set back: databases never assign a number below an
// existing one. Reading the log's life makes TRUNCATE wait until the transaction ends.
func (m *Maintenance) deleteBelow(ctx context.Context, floor int64, report *admin.MaintenanceReport) error {
	statement := "delete"
	if m.ob.log.Dialect.OneWriter {
		statement = "delete_file"
	}
	for ctx.Err() == nil {
		var n int64
		err := m.ob.log.Change(ctx, func(tx *sql.Tx) error {
			if _, err := m.ob.log.Life(ctx, tx); err != nil {
				return err // the floor belongs to another log
			}
			last, err := m.ob.log.Last(ctx, tx)
			if err != nil {
				return err
			}
			bound, err := sqlstore.Column[int64](ctx, tx, m.ob.log.SQL["delete_bound"], min(floor, last-1), m.cfg.DeleteChunk)
			if err != nil || len(bound) == 0 {
				n = 0
				return err
			}
			n, err = sqlstore.Written(ctx, tx, m.ob.log.SQL[statement], bound[len(bound)-1], len(bound))
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
