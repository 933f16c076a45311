package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// DelayedMessage is a message that is not due yet. Its NotBefore is set.
type DelayedMessage struct {
	outbox.Message

	// No tells messages of the same NotBefore apart, in the order of their Enqueue.
	No int64

	// CreatedAt is the database's clock when it was enqueued.
	CreatedAt time.Time
}

// DelayedQuery selects delayed messages. The zero value selects the first hundred.
type DelayedQuery struct {
	// ID, Topic and Key select the messages that have them.
	// Default to any.
	ID, Topic, Key string

	// After is the last message of the page before.
	// Defaults to none: the first page.
	After *DelayedMessage

	// Limit bounds the page, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// Delayed lists messages that are not due yet, the next first. It returns an error
// that wraps outbox.ErrInvalidConfig where the limit is out of bounds, and
// outbox.ErrNotMigrated where the schema is older than version 2.
func (o *Outbox) Delayed(ctx context.Context, q DelayedQuery) ([]DelayedMessage, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 10_000 {
		return nil, outbox.ConfigError("Limit", q.Limit, "must be 1 to 10000")
	}
	after := DelayedMessage{Message: outbox.Message{NotBefore: time.Unix(0, 0)}}
	if q.After != nil {
		after = *q.After
	}
	var id *string
	if q.ID != "" {
		mapped, _ := ids.Map(q.ID)
		text := ids.Text(mapped)
		id = &text
	}
	rows, err := o.pool.Query(ctx, o.sql.delayedList, after.NotBefore, after.No, textOrNull(&q.Topic), textOrNull(&q.Key), id, q.Limit)
	if err != nil {
		return nil, describe(err)
	}
	defer rows.Close()
	var found []DelayedMessage
	var d decoder
	for rows.Next() {
		var due time.Time
		if err := d.scan(withDue{rows, &due}); err != nil {
			return nil, err
		}
		r := d.records[len(d.records)-1]
		r.NotBefore = due.In(time.UTC)
		found = append(found, DelayedMessage{Message: r.Message, No: r.Seq, CreatedAt: r.CreatedAt})
	}
	return found, describe(rows.Err())
}

// withDue is a row of the log with one column more.
type withDue struct {
	pgx.Rows

	due *time.Time
}

// Scan scans the last column, too.
func (r withDue) Scan(dest ...any) error {
	return r.Rows.Scan(append(dest, r.due)...)
}

// CancelDelayed takes back the message called id, if it is not due yet, and says
// whether there was one; if several were enqueued by that id, all of them. A message that
// is due is in the log, or about to be, and is sent. The audit keeps who asked, and why:
// without both, or without an id, the error wraps ErrInvalidRequest.
func (o *Outbox) CancelDelayed(ctx context.Context, id string, by admin.By) (bool, error) {
	if id == "" || by.Actor == "" || by.Reason == "" {
		return false, fmt.Errorf("%w: id, Actor and Reason are required", admin.ErrInvalidRequest)
	}
	mapped, canonical := ids.Map(id)
	var text *string
	if !canonical {
		text = &id
	}
	tag, err := o.pool.Exec(ctx, o.sql.delayedCancel, ids.Text(mapped), text, by.Actor, by.Reason)
	return tag.RowsAffected() > 0, describe(err)
}

// untilDue returns how long it is until the next message is due, at most most.
func (o *Outbox) untilDue(ctx context.Context, most time.Duration) (time.Duration, error) {
	var micros int64
	err := o.pool.QueryRow(ctx, o.sql.delayedNext).Scan(&micros)
	if errors.Is(err, pgx.ErrNoRows) || micros > most.Microseconds() {
		return most, nil
	}
	return time.Duration(micros) * time.Microsecond, describe(err)
}
