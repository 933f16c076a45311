package pgoutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/outbox"
)

// InBatch runs the statements of batch, followed by the INSERT of msgs, as one transaction of the
// outbox's pool, and wakes the relays as InTx does. All of it is one round trip, with BEGIN and
// COMMIT: the cheapest way to enqueue, and cheaper than the same statements without a message
// sent one by one.
//
// If the result of a statement must be checked before the commit, give it a callback
// (pgx.QueuedQuery): then COMMIT is held back until all callbacks have returned, at the price of
// two more round trips, and the error of one undoes everything. The batch still belongs to the
// caller, and can be run again after an error.
//
// Errors are those of Enqueue, and of the statements; the transaction is rolled back then. No
// statement may end the transaction, roll back to a savepoint or begin a transaction: InBatch
// returns outbox.ErrNotInTransaction afterwards. Nor may a procedure that the batch calls; that
// is not detected. If the connection breaks on the way, the transaction may have been committed:
// the error wraps outbox.ErrCommitUnknown, as with InTx.
func (o *Outbox) InBatch(ctx context.Context, batch *pgx.Batch, msgs ...outbox.Message) error {
	began := time.Now()
	ready, err := o.inBatch(ctx, batch, msgs)
	o.observe(ctx, outbox.EnqueueEvent{Messages: ready, Took: time.Since(began), Err: err})
	if err != nil {
		return err
	}
	return o.committed(ctx)
}

func (o *Outbox) inBatch(ctx context.Context, batch *pgx.Batch, msgs []outbox.Message) (ready []outbox.Message, err error) {
	if batch == nil {
		return nil, fmt.Errorf("%w: batch is nil", outbox.ErrNotInTransaction)
	}
	ready, err = o.prepare.Prepare(ctx, msgs)
	if err != nil {
		return nil, err
	}
	all, waits := copied(batch)
	if len(ready) > 0 {
		var locked keyLocks // none so far
		take := func(keys []int64) error { return locked.take(ctx, keys, o.cfg.MaxKeyLocks, nil) }
		err = o.insert(ctx, ready, nil, take, func(sql string, args []any, rows int64) (int64, error) {
			if whole, ok := o.sql.whole[sql]; ok {
				all.Queue(whole, append(args, rows)...)
				return rows, nil
			}
			waits = true // including delayed ones: their number is checked before the commit
			all.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
				if n := tag.RowsAffected(); n != rows {
					return o.notStored(n, rows, false)
				}
				return nil
			})
			return rows, nil
		})
	}
	defer o.watch(ctx, ready, 0)()
	defer func() {
		if err = o.explainWait(ctx, err, ready, 0); isSuppressed(err) {
			err = o.suppressed(err)
		}
	}()
	switch {
	case err != nil || all.Len() == 0:
		return ready, err
	case waits:
		return ready, describe(o.begin(ctx, func(tx pgx.Tx) error {
			if err := tx.SendBatch(ctx, all).Close(); err != nil {
				return err
			}
			return checkOpen(tx) // the tag of a statement with a callback is not available
		}))
	default:
		return ready, describe(o.sendBatch(ctx, all))
	}
}

// sendBatch sends batch, which is a transaction by itself outside of one.
func (o *Outbox) sendBatch(ctx context.Context, batch *pgx.Batch) error {
	return o.pool.Use(ctx, func(conn *pgx.Conn) error {
		err := conn.SendBatch(ctx, batch).Close()
		if err != nil && conn.IsClosed() {
			return unknownCommit(err)
		}
		return err
	})
}

// copied returns a batch of the same statements, since a batch can be sent only once, and reports
// whether it must wait for a callback before the commit.
func copied(batch *pgx.Batch) (all *pgx.Batch, waits bool) {
	all = &pgx.Batch{}
	for _, s := range batch.QueuedQueries {
		q := all.Queue(s.SQL, s.Arguments...)
		if q.Fn = s.Fn; s.Fn == nil {
			q.Exec(staysInside)
		}
		waits = waits || s.Fn != nil
	}
	return all, waits
}

// staysInside refuses statements that end or begin a transaction.
func staysInside(tag pgconn.CommandTag) error {
	switch tag.String() {
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION", "BEGIN", "START TRANSACTION":
		return fmt.Errorf("%w: a statement of the batch was %s", outbox.ErrNotInTransaction, tag)
	default:
		return nil
	}
}
