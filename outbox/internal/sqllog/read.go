package sqllog

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

const (
	// MaxSpans is the number of gaps that one statement reads.
	MaxSpans = 100
	// maxPageBytes is the size at which a page ends although more could be read.
	maxPageBytes = 16 << 20
)

// RawPage is a page of the log as it was read: messages, and rows that only close gaps.
type RawPage struct {
	Records []outbox.Record // ascending in Seq
	// Full is set if there may be more.
	Full bool
}

// readPage reads at most limit rows that at has not seen, ascending in Seq.
//
// New rows are read first, then missing ones. So if a row is returned, all earlier rows of its
// key are, too: their transactions have committed before it drew its number, and a commit is
// visible before its locks are released. They are either new as well, and visible to the same
// statement; or missing, and visible to the next statement. In the other order they could commit
// between the two statements, and be read after a later row.
//
// Both statements must run on one server: on a lagging one, the second would not see those rows.
// A statement that a server other than server answers fails; an empty server is not compared.
func (l *Log) readPage(ctx context.Context, q sqlstore.Querier, server string, at Position, limit int) (RawPage, error) {
	fresh, err := l.ReadRows(ctx, q, limit, l.SQL["page_new"], server, at.Last, limit)
	if err != nil || len(at.Gaps) == 0 {
		return fresh, err
	}
	late, err := l.readMissing(ctx, q, server, at.Gaps, limit)
	if err != nil {
		return RawPage{}, err
	}
	if late.Full || len(late.Records) >= limit {
		// There may be more missing rows: no new row may pass them.
		return RawPage{late.Records, true}, nil
	}
	room := min(limit-len(late.Records), len(fresh.Records))
	return RawPage{append(late.Records, fresh.Records[:room]...), fresh.Full || room < len(fresh.Records)}, nil
}

// readMissing reads rows in gaps. A missing transaction has committed before any later row of its
// key was numbered, so the parts need not be read at the same moment.
func (l *Log) readMissing(ctx context.Context, q sqlstore.Querier, server string, gaps []Span, limit int) (page RawPage, err error) {
	if crowded(gaps) {
		if gaps, err = l.appeared(ctx, q, server, gaps); err != nil {
			return RawPage{}, err
		}
	}
	for len(gaps) > 0 && !page.Full && len(page.Records) < limit {
		part := gaps[:min(len(gaps), MaxSpans)]
		gaps = gaps[len(part):]
		where, spans := Within(part)
		room := limit - len(page.Records)
		args := slices.Concat([]any{server}, spans, []any{room})
		found, err := l.ReadRows(ctx, q, room, l.SQL.With("page_missing", where), args...)
		if err != nil {
			return RawPage{}, err
		}
		page.Records, page.Full = append(page.Records, found.Records...), found.Full
	}
	return page, nil
}

const (
	// crowd is the number of gaps from which they may be scanned together.
	crowd = 5 * MaxSpans
	// crowdWidth is the number of numbers per gap up to which gaps are scanned together. One such
	// scan replaces statements with MaxSpans gaps each.
	crowdWidth = numbersPage / MaxSpans
)

// crowded reports whether gaps are many and close to each other, as after a series of
// transactions that were rolled back. Statements that look into each gap would be very many.
func crowded(gaps []Span) bool {
	n := len(gaps)
	return n >= crowd && gaps[n-1].To-gaps[0].From < int64(n)*crowdWidth
}

// appeared returns those of the numbers in gaps that exist now, by a scan of the numbers from the
// first to the last.
func (l *Log) appeared(ctx context.Context, q sqlstore.Querier, server string, gaps []Span) (found []Span, err error) {
	after, end := gaps[0].From-1, gaps[len(gaps)-1].To
	for full := true; full; {
		numbers, err := sqlstore.Column[int64](ctx, q, l.SQL["numbers_new"], server, after, end, numbersPage)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			for n > gaps[0].To { // the last one ends at end
				gaps = gaps[1:]
			}
			if n >= gaps[0].From {
				found = append(found, Span{n, n})
			}
			after = n
		}
		full = len(numbers) == numbersPage
	}
	return found, nil
}

// Within is the condition that seq is in one of gaps.
func Within(gaps []Span) (where string, args []any) {
	for _, g := range gaps {
		args = append(args, g.From, g.To)
	}
	return strings.TrimSuffix(strings.Repeat("seq BETWEEN ? AND ? OR ", len(gaps)), " OR "), args
}

// ReadAll reads the rows of a query above after. The query is repeated after each page that ended
// early.
func (l *Log) ReadAll(
	ctx context.Context, q sqlstore.Querier, after int64, query func(after int64) (string, []any),
) (all []outbox.Record, err error) {
	for more := true; more; {
		statement, args := query(after)
		page, err := l.ReadRows(ctx, q, -1, statement, args...)
		if err != nil {
			return all, err
		}
		all = append(all, page.Records...)
		if more = page.Full; more {
			after = all[len(all)-1].Seq
		}
	}
	return all, nil
}

// ReadRows reads a page of the log, and ends it early if it is large.
func (l *Log) ReadRows(ctx context.Context, q sqlstore.Querier, limit int, query string, args ...any) (page RawPage, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return RawPage{}, err
	}
	defer func() { _ = rows.Close() }()
	size, next := 0, NewRecordScan()
	for rows.Next() {
		r, err := next.Next(rows.Scan)
		if err != nil {
			return RawPage{}, err
		}
		if columns := next.odd(); len(columns) > 0 {
			l.logger.WarnContext(ctx, "a row of the log holds values that Enqueue does not write",
				slog.Int64("seq", r.Seq), slog.String("message_id", storable.AtMost(r.ID, 100)), slog.Any("columns", columns))
		}
		if n := len(page.Records); n == cap(page.Records) { // records are large: grow the slice rarely
			page.Records = slices.Grow(page.Records, max(16, 3*n))
		}
		page.Records = append(page.Records, r)
		if size += len(r.Payload); size >= maxPageBytes {
			page.Full = true
			return page, nil
		}
	}
	page.Full = len(page.Records) == limit
	return page, rows.Err()
}
