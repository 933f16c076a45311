package pgoutbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/outbox"
)

// QueueEnqueue queues the INSERT of msgs onto batch, so that it shares the round trip of the
// business statements. (InBatch sends the whole transaction in one, and wakes the relays.) Send
// the batch in a transaction; one that is sent on a pool or connection is a separate transaction,
// as pgx documents. Queue it last, since it takes locks. Errors are those of Enqueue: those that
// are found without the database are returned here, the rest by the batch's results.
//
// A batch does not know where it will be sent, so the check that this is the outbox's database
// happens then: by the connection's address or, if that is not the pool's, by the statement
// itself. To learn which database it must find, the first call of a process opens a connection
// for a moment. For the same reason Config.MaxKeyLocks bounds the keys of a batch here, whatever
// else its transaction locks.
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
		own := &ownDatabase{outbox: o}
		batch.Queue(sql, append([]any{own}, args...)...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != want {
				return o.notStored(tag.RowsAffected(), want, own.compares)
			}
			own.stored()
			return nil
		})
		return want, nil
	})
}
