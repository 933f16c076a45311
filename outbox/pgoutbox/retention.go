package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// trusts reports whether the database's clock is trusted for irreversible changes.
func (r *round) trusts(ctx context.Context) (bool, error) {
	now, err := r.ob.now(ctx)
	if err != nil {
		return false, err
	}
	doubt := r.clock.Look(now)
	if doubt != nil && !r.doubted {
		r.doubted = true
		r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmClock, Detail: doubt.Error()})
	}
	return doubt == nil, nil
}

// groups checks how far behind the groups are, raises alarms, and records which groups no longer
// hold anything back.
func (r *round) groups(ctx context.Context) error {
	trusted, err := r.trusts(ctx)
	if err != nil || !trusted {
		return err
	}
	var lags []groupLag
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, r.sql.lags)
		if err != nil {
			return err
		}
		lags, err = pgx.CollectRows(rows, pgx.RowToStructByPos[groupLag])
		return err
	})
	if err != nil {
		return err
	}
	r.known = true
	for _, g := range lags {
		if g.Problem != "" {
			r.known = false // nothing is deleted based on a position that relays would refuse
			r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmPositionUnusable, Group: g.Group, Detail: g.Problem})
			continue
		}
		if g.Lag == nil {
			continue // it has settled everything
		}
		lag, limit := micros(*g.Lag), r.cfg.pinLimit()
		if g.Most != nil {
			limit = micros(*g.Most)
		}
		var kind outbox.AlarmKind
		switch {
		case limit < 0:
			continue // nothing is ever dropped
		case lag > limit && g.Oldest > r.clock.Younger(limit):
			continue // it was enqueued since, by a clock that was behind
		case lag > limit && g.Most == nil:
			kind = AlarmHistoryPinned
		case lag > limit:
			kind = AlarmLagExceeded
			r.exempt = append(r.exempt, g.Group)
		case float64(lag) > r.cfg.WarnAt*float64(limit):
			kind = AlarmLag
		default:
			continue
		}
		r.alarm(ctx, outbox.AlarmEvent{
			Kind: kind, Group: g.Group, Attrs: []slog.Attr{slog.Duration("lag", lag), slog.Duration("limit", limit)},
		})
	}
	return nil
}

// pinLimit is the age from which a group without a greatest lag counts as holding history back.
// If history is only dropped by size, the time of that is unknown: then a day is used, which is
// long for a relay to be behind.
func (c MaintenanceConfig) pinLimit() time.Duration {
	if c.Retention < 0 && c.MaxBytes > 0 {
		return 24 * time.Hour
	}
	return c.Retention
}

// groupLag is the age of a group's oldest unsettled message and the allowed age, in microseconds,
// its number, and the problem of the group's position.
type groupLag struct {
	Group     string
	Lag, Most *int64
	Oldest    int64
	Problem   string
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// retain drops history that is old, or too large, and behind every group.
func (r *round) retain(ctx context.Context) error {
	switch {
	case !r.known:
		return nil // it is not known which groups still need what, or positions cannot show it
	case r.cfg.NoDDL:
		return r.deleteFrom(ctx, r.ob.cfg.Table)
	case r.trim != "":
		return errors.Join(r.dropRanges(ctx), r.deleteFrom(ctx, r.trim))
	default:
		return r.dropRanges(ctx)
	}
}

// dropRanges drops the oldest ranges, one after the other, up to the first one to keep.
func (r *round) dropRanges(ctx context.Context) error {
	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}
	var total int64
	for _, p := range parts {
		total += p.Bytes
	}
	for _, p := range parts {
		if p.To > r.last+1 {
			return nil // some of its numbers are still to be drawn
		}
		tooMuch := r.cfg.MaxBytes > 0 && total > r.cfg.MaxBytes
		young, err := r.young(ctx, p)
		if err != nil || young && !tooMuch {
			return err
		}
		err = r.drop(ctx, p.Range)
		if errors.Is(err, errKept) {
			return nil
		}
		if err != nil {
			return err
		}
		delete(r.archived, p.Table)
		total -= p.Bytes
		r.report.Dropped = append(r.report.Dropped, p.Table)
		r.log.InfoContext(ctx, "range dropped", rangeAttr(p.Range))
	}
	return nil
}

func (r *round) young(ctx context.Context, p part) (young bool, err error) {
	if r.cfg.Retention < 0 {
		return true, nil
	}
	err = r.read(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL enable_bitmapscan = on"); err != nil { // BRIN only supports this scan
			return err
		}
		return tx.QueryRow(ctx, r.ob.of(p.Table, r.sql.young), r.cfg.Retention.Microseconds(), r.clock.Younger(r.cfg.Retention)).Scan(&young)
	})
	return young, err
}

// drop drops one range, or returns errKept if a group is not past it.
func (r *round) drop(ctx context.Context, p admin.Range) error {
	trusted, err := r.trusts(ctx)
	if err == nil && !trusted {
		err = errKept
	}
	if err != nil {
		return err
	}
	if err := r.read(ctx, func(tx pgx.Tx) error { // to avoid a useless lock and archive
		_, err := r.losers(ctx, tx, p)
		return err
	}); err != nil {
		return err
	}
	seen, err := r.archive(ctx, p)
	if err != nil {
		return err
	}
	return r.change(ctx, func(tx pgx.Tx) error { return r.dropIn(ctx, tx, p, seen) })
}

// dropIn is the transaction that drops. A check and then a DROP would lose the row of a
// transaction that commits while the DROP waits for it. So the lock comes first: SHARE waits for
// the writers of this range and blocks new ones. The check is the next statement, READ COMMITTED,
// whose snapshot therefore sees what they have committed.
func (r *round) dropIn(ctx context.Context, tx pgx.Tx, p admin.Range, seen *string) error {
	if _, err := tx.Exec(ctx, r.ob.of(p.Table, "LOCK TABLE {range} IN SHARE MODE")); err != nil {
		return err
	}
	losers, err := r.losers(ctx, tx, p)
	if err != nil {
		return err
	}
	if seen != nil {
		var unseen bool
		if err := tx.QueryRow(ctx, r.ob.of(p.Table, r.sql.unseen), *seen).Scan(&unseen); err != nil {
			return err
		}
		if unseen {
			delete(r.archived, p.Table)
			return errKept // it came after the archive: the next round archives again
		}
	}
	if err := failpoint.Inject(ctx, failpoint.RelayDropWaits); err != nil {
		return err
	}
	if err := r.lockLog(ctx, tx, p.Table); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, r.ob.of(p.Table, "DROP TABLE {range}")); err != nil {
		return err
	}
	for _, group := range losers {
		if err := r.audit(ctx, tx, "lose_history", "the group is past its max_lag", &group, p); err != nil {
			return err
		}
	}
	return r.audit(ctx, tx, "drop_range", "retention", nil, p)
}

// losers returns the groups that have not settled all of a range and no longer hold it back. It returns
// errKept if a group that holds it back has not settled it, or if there is no group at all, since then
// nothing has been read.
func (r *round) losers(ctx context.Context, tx pgx.Tx, p admin.Range) ([]string, error) {
	rows, err := tx.Query(ctx, r.ob.of(p.Table, r.sql.pins))
	if err != nil {
		return nil, err
	}
	var losers []string
	group, behind, some, kept := "", false, false, false
	_, err = pgx.ForEachRow(rows, []any{&group, &behind}, func() error {
		some = true
		switch {
		case !behind:
		case slices.Contains(r.exempt, group):
			losers = append(losers, group)
		default:
			kept = true
		}
		return nil
	})
	if err == nil && (kept || !some) {
		err = errKept
	}
	return losers, err
}

func (r *round) audit(ctx context.Context, tx pgx.Tx, action, reason string, group *string, p admin.Range) error {
	details, err := json.Marshal(map[string]any{"table": p.Table, "from": p.From, "to": p.To, "bytes": p.Bytes})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, r.sql.audit, action, reason, group, string(details))
	return err
}
