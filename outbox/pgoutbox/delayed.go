package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Delayed implements admin.Manager. The error wraps outbox.ErrNotMigrated if the schema
// is missing.
func (o operator) Delayed(ctx context.Context, q admin.DelayedQuery) ([]admin.DelayedMessage, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	found, err := o.delayed(ctx, o.pool, q)
	return found, describe(err)
}

func (o *Outbox) delayed(ctx context.Context, db querier, q admin.DelayedQuery) ([]admin.DelayedMessage, error) {
	after := admin.DelayedMessage{Message: outbox.Message{NotBefore: time.Unix(0, 0)}}
	if q.After != nil {
		after = *q.After
	}
	var id *string
	if q.ID != "" {
		mapped, _ := ids.Map(q.ID)
		text := ids.Text(mapped)
		id = &text
	}
	rows, err := db.Query(ctx, o.sql.delayedList, after.NotBefore, after.No, textOrNull(&q.Topic), textOrNull(&q.Key), id, q.Limit, q.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []admin.DelayedMessage
	var d decoder
	for rows.Next() {
		var due time.Time
		if err := d.scan(withMore{rows, &due}); err != nil {
			return nil, err
		}
		r := d.records[len(d.records)-1]
		r.NotBefore = due.In(time.UTC)
		found = append(found, admin.DelayedMessage{Message: r.Message, No: r.Seq, CreatedAt: r.CreatedAt})
	}
	return found, rows.Err()
}

// withMore is a row of the log with one more column.
type withMore struct {
	pgx.Rows

	more any // destination of the column
}

// Scan scans the last column, too.
func (r withMore) Scan(dest ...any) error {
	return r.Rows.Scan(append(dest, r.more)...)
}

// CancelDelayed implements admin.Manager.
func (o operator) CancelDelayed(ctx context.Context, req admin.CancelRequest) (admin.Changed, error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	if req.DryRun {
		found, err := o.delayed(ctx, o.pool, admin.DelayedQuery{ID: req.ID, Limit: 10_000})
		var changed admin.Changed
		for _, m := range found {
			changed.Count++
			changed.IDs = append(changed.IDs, m.ID)
		}
		return changed, describe(err)
	}
	mapped, canonical := ids.Map(req.ID)
	var text *string
	if !canonical {
		text = &req.ID
	}
	rows, err := o.pool.Query(ctx, o.sql.delayedCancel, ids.Text(mapped), text, req.Actor, req.Reason,
		string(req.Annotate(json.RawMessage("{}"))))
	if err != nil {
		return admin.Changed{}, describe(err)
	}
	cancelled, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return admin.Changed{Count: len(cancelled), IDs: cancelled}, describe(err)
}

// untilDue returns the time until the next message is due, at most most.
func (o *Outbox) untilDue(ctx context.Context, most time.Duration) (time.Duration, error) {
	var micros int64
	err := o.pool.QueryRow(ctx, o.sql.delayedNext).Scan(&micros)
	if errors.Is(err, pgx.ErrNoRows) || micros > most.Microseconds() {
		return most, nil
	}
	return time.Duration(micros) * time.Microsecond, describe(err)
}

// delays records what an idle relay of this process has learned about delayed messages.
// Maintenance of the same process uses that instead of asking the database itself. The zero
// value is ready.
type delays struct {
	waiting atomic.Int32 // number of callers that use it
	seen    atomic.Pointer[seenDelays]
}

// seenDelays is one observation.
type seenDelays struct {
	asked time.Time
	in    *time.Duration // time from asked until the next one is due; nil if there is none
}

// await makes relays look for delayed messages, until done is called.
func (d *delays) await() (done func()) {
	d.waiting.Add(1)
	return func() { d.waiting.Add(-1) }
}

// awaited reports whether a caller of await is active.
func (d *delays) awaited() bool { return d.waiting.Load() > 0 }

// note records the observation of a statement that was sent at asked, unless a later one was
// recorded before.
func (d *delays) note(asked time.Time, in *time.Duration) {
	for {
		before := d.seen.Load()
		if before != nil && before.asked.After(asked) || d.seen.CompareAndSwap(before, &seenDelays{asked, in}) {
			return
		}
	}
}

// until returns when a caller must look again, if it last looked itself at last and looks at
// least once per every. It returns the zero time if there was no observation after last.
func (d *delays) until(last time.Time, every time.Duration) time.Time {
	seen := d.seen.Load()
	switch {
	case seen == nil || !seen.asked.After(last):
		return time.Time{}
	case seen.in == nil:
		return seen.asked.Add(every)
	default:
		return seen.asked.Add(min(*seen.in, every))
	}
}
