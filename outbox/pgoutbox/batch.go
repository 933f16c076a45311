package pgoutbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/outbox"
)

// QueueEnqueue queues the INSERT of msgs onto batch, so that it shares the round
// trip of the business statements. (InBatch sends the whole transaction in one, and wakes
// the relays.) Send the batch in a transaction; one that is
// sent on a pool or connection is a transaction of its own, as pgx documents.
// Queue it last, since it takes locks. Errors are those of Enqueue: what can be
// seen before the database is touched is returned here, the rest by the batch's
// results.
//
// A batch does not say where it will be sent, so the statement itself checks
// that it runs in this outbox's database; to know which one that is, the first
// call of a process opens a connection for a moment. For the same reason
// Config.MaxKeyLocks bounds the keys of a batch here, whatever else its transaction locks.
func (o *Outbox) QueueEnqueue(ctx context.Context, batch *pgx.Batch, msgs ...outbox.Message) error {
	if batch == nil {
		return fmt.Errorf("%w: batch is nil", outbox.ErrNotInTransaction)
	}
	ready, err := o.prepare.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return err
	}
	instance, err := o.instanceID(ctx)
	if err != nil {
		return err
	}
	take := func(keys []int64) error { return o.takeQueued(batch, keys) }
	return o.insert(ctx, ready, &instance, take, func(sql string, args []any, want int64) (int64, error) {
		batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != want {
				return o.notStored(tag.RowsAffected(), want, true)
			}
			return nil
		})
		return want, nil
	})
}

// InsertStatement returns the statement that enqueues msgs and its parameters,
// for libraries that run SQL themselves, such as watermill-sql. They must run it
// in a transaction, through pgx or its stdlib driver. msgs must fit one
// statement: at most 10,000, with at most 32 MiB of payload together. None can have
// a NotBefore, since one INSERT has one table: outbox.ErrInvalidMessage. In another
// database than the outbox's the statement fails with SQLSTATE 22P02 and a text that
// names the reason. Config.MaxKeyLocks bounds a statement here and not a transaction.
// For no message there is no statement, but an empty text.
func (o *Outbox) InsertStatement(ctx context.Context, msgs []outbox.Message) (query string, args []any, err error) {
	ready, err := o.prepare.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return "", nil, err
	}
	if err := refuseDelayed(ready); err != nil {
		return "", nil, err
	}
	if len(chunks(ready)) > 1 {
		return "", nil, fmt.Errorf("%w: %d messages do not fit one statement", outbox.ErrInvalidMessage, len(msgs))
	}
	instance, err := o.instanceID(ctx)
	if err != nil {
		return "", nil, err
	}
	take := func([]int64) error { return nil } // whose transaction it will be is not known
	err = o.insert(ctx, ready, &instance, take, func(q string, a []any, rows int64) (int64, error) {
		query, args = storingAll(q, rows), a
		return rows, nil
	})
	return query, args, err
}

// storingAll makes insert fail unless it stores n rows: not every library looks at how
// many there were. The failing cast depends on the count so that the planner cannot run
// it ahead of time.
func storingAll(insert string, n int64) string {
	return fmt.Sprintf(`WITH stored AS (
%[1]s
RETURNING 1)
SELECT CASE WHEN count(*) = %[2]d THEN 0 ELSE
	('%[3]s: ' || pg_catalog.count(*)::text || ' of %[2]d messages stored (unless a trigger or a rule suppresses rows)')::int END
FROM stored`, insert, n, outbox.ErrWrongDatabase)
}
