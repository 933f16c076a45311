package sqloutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// Enqueue stores msgs in tx: one message in one statement; several messages in one statement for
// their keys and one for each 500 messages or 4 MiB. They are published after tx has committed,
// and only then; call Wake after the commit, or use InTx, so that it happens at once.
//
// Order: messages with the same key are published in commit order. To that end Enqueue
// locks each key until tx ends (Config.UnorderedKeys), so call it late in the
// transaction, and once with all messages: two calls with several keys each can deadlock
// against each other, as with row locks.
//
// If the database refuses a statement, Enqueue rolls tx back: Commit then returns sql.ErrTxDone.
// Otherwise a caller that ignores the error would commit the business rows without their
// messages. After a lock timeout, MySQL and MariaDB only roll back the statement; after a
// deadlock they roll back the whole transaction, but a later COMMIT does not fail.
//
// Errors: outbox.ErrNotInTransaction if tx is nil or has ended, an *outbox.InvalidMessageError
// for a message that cannot be stored and sent as it is; neither has written anything, and tx
// goes on. After any other error tx is rolled back: outbox.ErrNotMigrated if the transaction's
// database has no such outbox, or the database's error. A call without messages does nothing. The
// caller must make sure that tx belongs to a *sql.DB of the outbox's own database: database/sql
// does not show it.
func (o *Outbox) Enqueue(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error {
	began := time.Now()
	ready, err := o.enqueue(ctx, tx, msgs)
	if len(o.cfg.Hooks) > 0 {
		e := outbox.EnqueueEvent{Messages: ready, Took: time.Since(began), Err: err}
		hooks.Call(ctx, o.cfg.Logger, o.cfg.Hooks, func(h outbox.EnqueueHook) { h.OnOutboxEnqueue(ctx, e) })
	}
	return err
}

// EnqueueContext enqueues in the *sql.Tx that ctx carries: put there by InTx,
// ContextWithTx, or by an inbox around a handler.
func (o *Outbox) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	tx, ok := txctx.As[*sql.Tx](ctx)
	if !ok {
		return fmt.Errorf("%w: the context carries no *sql.Tx", outbox.ErrNotInTransaction)
	}
	return o.Enqueue(ctx, tx, msgs...)
}

// enqueue returns the messages as they were stored or, after an error, as they would have been.
func (o *Outbox) enqueue(ctx context.Context, tx *sql.Tx, msgs []outbox.Message) ([]outbox.Message, error) {
	if tx == nil {
		return nil, fmt.Errorf("%w: tx is nil", outbox.ErrNotInTransaction)
	}
	ready, err := o.preparer.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return nil, err
	}
	err = o.insert(ctx, tx, ready)
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return ready, fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)
	case err != nil:
		_ = tx.Rollback() // however that ends, the transaction can no longer be committed
		return ready, o.log.Waited(ctx, o.log.Describe(err))
	default:
		return ready, nil
	}
}

// insert stores messages: those of the log, then those that are delayed.
func (o *Outbox) insert(ctx context.Context, tx *sql.Tx, msgs []outbox.Message) error {
	if err := failpoint.Inject(ctx, failpoint.ProducerBeforeInsert); err != nil {
		return err
	}
	now, later, err := o.divide(ctx, tx, msgs)
	if err != nil {
		return err
	}
	rows, err := sqllog.RowsOf(now)
	if err != nil {
		return err
	}
	delayed, err := sqllog.RowsOf(later)
	if err != nil {
		return err
	}
	if len(rows) == 1 && o.locksKeys() && now[0].Key != "" {
		err = o.insertKeyed(ctx, tx, now[0].Key, rows[0])
	} else {
		err = o.insertMany(ctx, tx, now, rows)
	}
	if err == nil {
		err = o.log.InsertRows(ctx, tx, "enqueue_delayed", delayed, func(i int) []any { return []any{later[i].NotBefore.UnixMicro()} })
	}
	if err != nil {
		return err
	}
	return failpoint.Inject(ctx, failpoint.ProducerAfterInsert)
}

func (o *Outbox) locksKeys() bool {
	return !o.cfg.UnorderedKeys && !o.log.Dialect.OneWriter
}

// divide separates messages that are due by the database's clock from those that are not. The
// clock is read once: if each of two statements read it, a message could fall between them, and
// be lost.
func (o *Outbox) divide(ctx context.Context, tx *sql.Tx, msgs []outbox.Message) (now, later []outbox.Message, err error) {
	var clock int64
	for i := range msgs {
		if at := msgs[i].NotBefore; !at.IsZero() {
			if clock == 0 {
				if err := tx.QueryRowContext(ctx, o.log.SQL["now"]).Scan(&clock); err != nil {
					return nil, nil, err
				}
			}
			if at.UnixMicro() > clock {
				later = append(later, msgs[i])
				continue
			}
		}
		now = append(now, msgs[i])
	}
	return now, later, nil
}

// insertKeyed locks the key and inserts the message in one statement. Its number is drawn when
// the lock is held, row by row: for several rows the statement would hold numbers, and with old
// settings the lock of the counter, while it waits for the next key.
func (o *Outbox) insertKeyed(ctx context.Context, tx *sql.Tx, key string, row sqllog.MessageRow) error {
	n, err := sqlstore.Written(ctx, tx, o.log.SQL["enqueue_keyed"], append(row.Args(), o.bucket(key))...)
	if err == nil && n != 1 {
		err = o.errLocks()
	}
	return err
}

// insertMany locks all keys first. No number is drawn before the last lock is held: otherwise the
// order of numbers would not be that of the commits.
func (o *Outbox) insertMany(ctx context.Context, tx *sql.Tx, msgs []outbox.Message, rows []sqllog.MessageRow) error {
	if o.locksKeys() {
		if err := o.lockBuckets(ctx, tx, o.buckets(msgs)); err != nil {
			return err
		}
	}
	return o.log.InsertRows(ctx, tx, "enqueue", rows, func(int) []any { return nil })
}

func (o *Outbox) errLocks() error {
	return fmt.Errorf("%w: rows are missing in table %s_locks", outbox.ErrNotMigrated, o.cfg.Table)
}
