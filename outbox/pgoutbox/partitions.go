package pgoutbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// part is a range of the log as stored in the database.
type part struct {
	admin.Range

	heap int64 // bytes without indexes
}

var bounds = regexp.MustCompile(`^FOR VALUES FROM \((?:'(-?\d+)'|MINVALUE)\) TO \((?:'(-?\d+)'|MAXVALUE)\)$`)

// parts returns the ranges in the order of their numbers; the last one is open-ended.
func (m *Maintenance) parts(ctx context.Context) ([]part, error) {
	all, err := partsOf(ctx, m.ob.pool, m.sql.ranges)
	if err == nil && (len(all) == 0 || !all[len(all)-1].Open()) {
		err = errNoTail
	}
	return all, err
}

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// partsOf returns what sql, the statement of the ranges, finds, in the order of the
// numbers.
func partsOf(ctx context.Context, db querier, sql string) ([]part, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (part, error) {
		var p part
		var bound string
		if err := row.Scan(&p.Table, &bound, &p.Bytes, &p.heap); err != nil {
			return part{}, err
		}
		return p, p.parse(bound)
	})
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.From, b.From) })
	return all, err
}

func (p *part) parse(bound string) error {
	found := bounds.FindStringSubmatch(bound)
	if found == nil {
		return fmt.Errorf("leat: partition %s of the log is not a range of numbers: %s", p.Table, bound)
	}
	var err error
	p.From, p.To = 1, math.MaxInt64
	if found[1] != "" {
		p.From, err = strconv.ParseInt(found[1], 10, 64)
	}
	if err == nil && found[2] != "" {
		p.To, err = strconv.ParseInt(found[2], 10, 64)
	}
	if err != nil {
		return fmt.Errorf("leat: partition %s of the log: %w", p.Table, err)
	}
	return nil
}

// ahead creates ranges between the sequence and the open-ended range, if there are too few. If
// maintenance does not run, the sequence continues into the open-ended range, which producers do
// not notice. That range is then closed above the sequence. See design 10.1.
func (r *round) ahead(ctx context.Context) error {
	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}
	tail := parts[len(parts)-1]
	if r.cfg.NoDDL {
		return nil
	}
	if tail.heap > r.cfg.MaxTailScan {
		r.trim = tail.Table
		r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmTailInUse, Detail: tail.Table, Attrs: []slog.Attr{rangeAttr(tail.Range)}})
		return nil
	}
	empty := 0
	for _, p := range parts[:len(parts)-1] {
		if p.From > r.last {
			empty++
		}
	}
	ahead := r.cfg.Ahead
	var published bool
	if err := r.ob.pool.QueryRow(ctx, r.sql.published).Scan(&published); err != nil {
		return err
	}
	if published {
		ahead = max(ahead, aheadPublished)
	}
	if r.last < tail.From && empty >= ahead {
		return nil
	}
	return r.extend(ctx, tail, 2*ahead-empty)
}

// aheadPublished is the least Ahead of a log that is copied to another database by publication. A range
// that is created during the copying does not exist there, and the schema is not copied twice. With ranges
// of 21 hours it lasts 13 days at least, mostly 26.
const aheadPublished = 15

// extend moves the start of the open-ended range up by n ranges.
//
// To change its bounds it must be detached and attached again, for which PostgreSQL needs an
// exclusive lock on the log. Both happen in one transaction, so no producer ever finds a number
// without a range. Everything that can be done beforehand is done before the lock is requested,
// and the wait for it is at most LockTimeout. While the lock is held there is no open transaction
// that has written to the log, or has drawn a number, so it is certain whether the range is in
// use. See design 10.2.
func (r *round) extend(ctx context.Context, tail part, n int) error {
	var added []admin.Range
	err := r.change(ctx, func(tx pgx.Tx) error {
		plan, err := r.plan(ctx, tx, tail, n)
		if err != nil {
			return err
		}
		added = plan.ranges
		return plan.run(ctx, tx)
	})
	if err != nil {
		return err
	}
	for _, a := range added {
		r.report.Added = append(r.report.Added, a.Table)
		r.log.InfoContext(ctx, "range added", rangeAttr(a))
	}
	return nil
}
