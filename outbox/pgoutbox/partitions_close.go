package pgoutbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Retention drops whole ranges, so the current range is closed once it covers this part of
// Retention or of MaxBytes, however few of its numbers were drawn.
const closeAt = 8

// A range is not closed below these, and not while so many are kept behind it: a group that pins
// history for a year must not cause a table per day.
const (
	leastAge   = time.Minute
	leastBytes = 1 << 20
	mostBehind = 32
)

// closeRange closes the current range if it is old or large enough.
//
// To give it another bound PostgreSQL would have to read all of it while producers wait. So the
// sequence moves instead, past the last number of the range: nothing is read or rewritten, and to
// relays a number that was never drawn is like one that was rolled back. There are enough
// numbers: at ten million per second they last 29,000 years. See design 10.3.
func (r *round) closeRange(ctx context.Context) error {
	if r.cfg.NoDDL {
		return nil
	}
	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(parts, func(p part) bool { return p.From <= r.last && r.last < p.To-1 })
	if at < 0 || at > mostBehind || parts[at].Open() || parts[at+1].Open() {
		return nil
	}
	p := parts[at]
	if due, err := r.due(ctx, p); err != nil || !due {
		return err
	}
	err = r.change(ctx, func(tx pgx.Tx) error { return r.skipTo(ctx, tx, p.Range) })
	if errors.Is(err, errKept) {
		return nil
	}
	if err != nil {
		return err
	}
	r.last = p.To - 1
	r.report.Closed = append(r.report.Closed, p.Table)
	r.log.InfoContext(ctx, "range closed", rangeAttr(p.Range))
	return nil
}

// due reports whether p is old or large enough to be closed.
func (r *round) due(ctx context.Context, p part) (due bool, err error) {
	if r.cfg.MaxBytes > 0 && p.Bytes > max(r.cfg.MaxBytes/closeAt, leastBytes) {
		return true, nil
	}
	if r.cfg.Retention < 0 {
		return false, nil
	}
	err = r.read(ctx, func(tx pgx.Tx) error {
		age := max(r.cfg.Retention/closeAt, leastAge)
		return tx.QueryRow(ctx, r.ob.of(p.Table, r.sql.begun), age.Microseconds()).Scan(&due)
	})
	return due, err
}

// skipTo moves the sequence to the last number of p, or returns errKept if it is no longer in p.
// setval would set it back if a producer drew numbers meanwhile, so the lock comes first: while
// it is held there is no open transaction that has written to the log, and so none that draws a
// number. A sequence that contradicts the log or a position, because history moved back, stays
// where it is, so that relays refuse it.
func (r *round) skipTo(ctx context.Context, tx pgx.Tx, p admin.Range) error {
	if _, err := tx.Exec(ctx, "LOCK TABLE ONLY "+r.ob.cfg.names().Qualified("")+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return err
	}
	var last, highest int64
	var problem bool
	if err := tx.QueryRow(ctx, r.ob.of(p.Table, r.sql.mayClose), r.sequence).Scan(&last, &highest, &problem); err != nil {
		return err
	}
	if last < p.From || last >= p.To-1 || highest > last || problem {
		return errKept
	}
	_, err := tx.Exec(ctx, "SELECT setval($1::oid::regclass, $2)", r.sequence, p.To-1)
	return err
}
