package sqllog

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
)

// numbersPage is the number of the log's numbers that one statement reads.
const numbersPage = 10_000

// Committed returns the position of a reader that has read everything that is committed, up to
// number end; or err if it is not nil. It starts from what another group has read, so that it
// need not read the whole log.
func (l *Log) Committed(ctx context.Context, q sqlstore.Querier, end int64, err error) (Position, error) {
	if err != nil {
		return Position{}, err
	}
	floor, err := l.Floor(ctx, q)
	if err != nil {
		return Position{}, err
	}
	groups, err := l.Groups(ctx, q)
	if err != nil {
		return Position{}, err
	}
	at := Position{Last: min(floor, end)}
	for _, g := range groups {
		if known := g.At.From(floor).UpTo(end); known.Last > at.Last {
			at = known
		}
	}
	for full := true; full; {
		fresh, err := sqlstore.Column[int64](ctx, q, l.SQL["numbers_new"], "", at.Last, end, numbersPage)
		if err != nil {
			return Position{}, err
		}
		at, full = at.Seen(fresh), len(fresh) == numbersPage
	}
	if at.Last < end { // the last ones are missing
		at.Gaps, at.Last = append(at.Gaps, Span{at.Last + 1, end}), end
	}
	for gaps := at.Gaps; len(gaps) > 0; {
		part := gaps[:min(len(gaps), MaxSpans)]
		gaps = gaps[len(part):]
		where, args := Within(part)
		late, err := sqlstore.Column[int64](ctx, q, l.SQL.With("numbers_missing", where), args...)
		if err != nil {
			return Position{}, err
		}
		at = at.Seen(late)
	}
	return at, nil
}

// FirstSince returns the lowest number of a message that was enqueued at t or later, by
// bisection: numbers and times ascend together except for the duration of statements, for which
// an hour is allowed.
func (l *Log) FirstSince(ctx context.Context, q sqlstore.Querier, t time.Time) (n int64, found bool, err error) {
	low, err := l.Floor(ctx, q)
	if err != nil {
		return 0, false, err
	}
	high, err := l.Last(ctx, q)
	if err != nil {
		return 0, false, err
	}
	early := t.Add(-time.Hour).UnixMicro()
	for low < high {
		middle := low + (high-low)/2
		var seq int64
		var created Micros
		err := q.QueryRowContext(ctx, l.SQL["number_after"], middle).Scan(&seq, &created)
		switch {
		case err != nil && !sqlstore.IsNoRows(err):
			return 0, false, err
		case err == nil && created.Micros < early && seq <= high:
			low = seq
		default:
			high = middle
		}
	}
	err = q.QueryRowContext(ctx, l.SQL["number_since"], low, t.UnixMicro()).Scan(&n)
	if sqlstore.IsNoRows(err) {
		return 0, false, nil
	}
	return n, err == nil, err
}
