package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
)

// searchSlack is by how much the order of the log's numbers and times may differ: a number is not
// drawn that long before the clock is read, unless the clock was set back.
const searchSlack = time.Minute

// Search implements admin.Manager. It finds the ends of a time range by bisection.
func (o operator) Search(ctx context.Context, q admin.MessageQuery) (admin.MessagePage, error) {
	err := admin.Complete(&q)
	if err != nil {
		return admin.MessagePage{}, err
	}
	var page admin.MessagePage
	err = o.looking(ctx, func(tx pgx.Tx) error {
		at, err := o.stretchOf(ctx, tx, q)
		if err == nil && at.low < at.high {
			page, err = o.searchIn(ctx, tx, q, at)
		}
		return err
	})
	return page, describe(err)
}

// looking runs work in a read-only transaction. Its queries use indexes whatever the statistics
// are, including BRIN, which only supports bitmap scans. JIT is off, since compiling would take
// longer than running.
func (o *Outbox) looking(ctx context.Context, work func(tx pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, o.pool, opts, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true)")
		if err != nil {
			return err
		}
		return work(tx)
	})
}

// stretch are the numbers above low, up to high.
type stretch struct{ low, high int64 }

// stretchOf returns the range in which q may find anything and has not searched yet.
func (o *Outbox) stretchOf(ctx context.Context, tx pgx.Tx, q admin.MessageQuery) (stretch, error) {
	var at stretch
	if err := tx.QueryRow(ctx, o.sql.searchBounds).Scan(&at.low, &at.high); err != nil || at.high == 0 {
		return stretch{}, err
	}
	at.low-- // is the first number
	within := at
	for _, end := range []struct {
		of     time.Time
		slack  time.Duration
		number *int64
		before int64
	}{{q.From, -searchSlack, &at.low, 1}, {q.To, searchSlack, &at.high, 0}} {
		if end.of.IsZero() {
			continue
		}
		if err := tx.QueryRow(ctx, o.sql.searchTime, end.of.Add(end.slack), within.low, within.high).Scan(end.number); err != nil {
			return stretch{}, err
		}
		*end.number -= end.before
	}
	switch {
	case q.After == 0:
	case q.Newest:
		at.high = min(at.high, q.After-1)
	default:
		at.low = max(at.low, q.After)
	}
	return at, nil
}

// searchIn returns a page of what a stretch holds.
func (o *Outbox) searchIn(ctx context.Context, tx pgx.Tx, q admin.MessageQuery, at stretch) (admin.MessagePage, error) {
	search, span := o.sql.search, o.sql.searchSpan
	if q.Newest {
		search, span = o.sql.searchNewest, o.sql.searchSpanNewest
	}
	var page admin.MessagePage
	var last *int64 // rows to read; nil: to the end
	if err := tx.QueryRow(ctx, span, at.low+1, at.high, q.Scan).Scan(&last); err != nil {
		return page, err
	}
	rows, err := tx.Query(ctx, search, at.low, at.high, q.Scan, orNull(topics.Like(q.Topic)), orNull(q.Key), orNull(topics.Like(q.Type)),
		timeOrNull(q.From), timeOrNull(q.To), q.OmitPayload, q.Limit, orNull(q.KeyPrefix))
	if err != nil {
		return page, err
	}
	defer rows.Close()
	var d decoder
	var found int
	for rows.Next() {
		if err := d.scan(withMore{rows, &found}); err != nil {
			return page, err
		}
	}
	page.Records = d.records
	switch n := len(page.Records); {
	case n > 0 && (n == q.Limit || n < found):
		page.Next = page.Records[n-1].Seq
	case last != nil:
		page.Next = *last
	}
	return page, rows.Err()
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
