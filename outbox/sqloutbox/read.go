package sqloutbox

import (
	"context"
	"strings"

	"github.com/leat-go/leat/outbox"
)

const (
	// maxSpans is the number of gaps that one statement looks into.
	maxSpans = 100
	// maxPageBytes is where a page ends although more could be read.
	maxPageBytes = 16 << 20
)

// rawPage is what was read of the log: messages, and rows that only close gaps.
type rawPage struct {
	records []outbox.Record // ascending in Seq
	// full is set if there may be more.
	full bool
}

// readPage reads at most limit rows that at has not seen, ascending in Seq.
//
// What is new is read first, then what was missing. So if a row is handed out, then also
// all that precede it of its key: their transactions have committed before it drew its
// number, and a commit is visible before its locks are released. They are either new as
// well, and visible to the same statement; or missing, and visible to the one behind it.
// In the other order they could commit between the two, and be read behind their follower.
func (o *Outbox) readPage(ctx context.Context, q querier, at position, limit int) (rawPage, error) {
	fresh, err := o.readRows(ctx, q, limit, o.sql["page_new"], at.last, limit)
	if err != nil || len(at.gaps) == 0 {
		return fresh, err
	}
	late, err := o.readMissing(ctx, q, at.gaps, limit)
	if err != nil {
		return rawPage{}, err
	}
	if late.full || len(late.records) >= limit {
		// There may be more that was missing: nothing that is new may pass it.
		return rawPage{late.records, true}, nil
	}
	room := min(limit-len(late.records), len(fresh.records))
	return rawPage{append(late.records, fresh.records[:room]...), fresh.full || room < len(fresh.records)}, nil
}

// readMissing reads rows in gaps. A transaction that is missing in one part of them has
// committed before any row of its key above it was numbered, so that the parts need not
// be read at one moment.
func (o *Outbox) readMissing(ctx context.Context, q querier, gaps []span, limit int) (page rawPage, err error) {
	for len(gaps) > 0 && !page.full && len(page.records) < limit {
		part := gaps[:min(len(gaps), maxSpans)]
		gaps = gaps[len(part):]
		where, args := within(part)
		found, err := o.readRows(ctx, q, limit-len(page.records), o.sql.with("page_missing", where), append(args, limit-len(page.records))...)
		if err != nil {
			return rawPage{}, err
		}
		page.records, page.full = append(page.records, found.records...), found.full
	}
	return page, nil
}

// within is the condition that seq is in one of gaps.
func within(gaps []span) (where string, args []any) {
	for _, g := range gaps {
		args = append(args, g.from, g.to)
	}
	return strings.TrimSuffix(strings.Repeat("seq BETWEEN ? AND ? OR ", len(gaps)), " OR "), args
}

// readAll reads the rows of a query above after, which is asked anew behind each page that
// ended early.
func (o *Outbox) readAll(
	ctx context.Context, q querier, after int64, query func(after int64) (string, []any),
) (all []outbox.Record, err error) {
	for more := true; more; {
		statement, args := query(after)
		page, err := o.readRows(ctx, q, -1, statement, args...)
		if err != nil {
			return all, err
		}
		all = append(all, page.records...)
		if more = page.full; more {
			after = all[len(all)-1].Seq
		}
	}
	return all, nil
}

// readRows reads a page of the log, and ends it early if it is large.
func (o *Outbox) readRows(ctx context.Context, q querier, limit int, query string, args ...any) (page rawPage, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return rawPage{}, err
	}
	defer func() { _ = rows.Close() }()
	size := 0
	for rows.Next() {
		var r outbox.Record
		if err := scanRecord(rows.Scan, &r); err != nil {
			return rawPage{}, err
		}
		page.records = append(page.records, r)
		if size += len(r.Payload); size >= maxPageBytes {
			page.full = true
			return page, nil
		}
	}
	page.full = len(page.records) == limit
	return page, rows.Err()
}
