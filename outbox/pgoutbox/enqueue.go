package pgoutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Enqueue stores msgs in tx, in one statement (more only beyond 10,000 messages or 32 MiB of
// payload). They are published after tx has committed, and only then; call Wake after the commit,
// or use InTx, so that it happens at once.
//
// Order: messages with the same key are published in commit order. To that end
// Enqueue locks each key until tx ends (Config.UnorderedKeys), so call it late
// in the transaction, and once with all messages: two calls with several keys
// each can deadlock against each other (SQLSTATE 40P01), as with row locks.
//
// A message whose NotBefore is in the future, by the database's clock, is stored outside the log
// in the same transaction; Maintenance moves it into the log when it is due.
//
// Errors: outbox.ErrNotInTransaction when tx is nil or has ended, outbox.ErrWrongDatabase when it
// belongs to another database, an *outbox.InvalidMessageError for a message that cannot be stored
// and sent as it is, ErrTooManyKeys after too many calls with keys in one transaction; none of
// these has written anything. Any other error is the database's, or names a trigger that
// suppresses rows, and tx must be rolled back. A call without messages does nothing.
func (o *Outbox) Enqueue(ctx context.Context, tx pgx.Tx, msgs ...outbox.Message) error {
	began := time.Now()
	ready, err := o.enqueuePgx(ctx, tx, msgs)
	if ready == nil && err == nil {
		return nil // kept for COMMIT
	}
	o.observe(ctx, outbox.EnqueueEvent{Messages: ready, Took: time.Since(began), Err: err})
	return err
}

func (o *Outbox) enqueuePgx(ctx context.Context, tx pgx.Tx, msgs []outbox.Message) ([]outbox.Message, error) {
	if err := checkOpen(tx); err != nil {
		return nil, err
	}
	ready, err := o.prepare.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return ready, err
	}
	if kept, err := o.wait(ctx, tx, ready); kept || err != nil {
		return nil, err
	}
	return ready, o.insertIn(ctx, tx, ready)
}

// insertIn inserts msgs in tx.
func (o *Outbox) insertIn(ctx context.Context, tx pgx.Tx, ready []outbox.Message) error {
	taken, err := o.checkDatabase(ctx, tx)
	if err != nil {
		return err
	}
	take := func(keys []int64) error { return taken.take(ctx, keys, o.cfg.MaxKeyLocks, o.heldIn(tx)) }
	self := pgunit.ConnOf(tx).PgConn().PID()
	defer o.watch(ctx, ready, self)()
	err = o.insert(ctx, ready, nil, take, func(sql string, args []any, _ int64) (int64, error) {
		tag, err := tx.Exec(ctx, sql, args...)
		if errors.Is(err, pgx.ErrTxClosed) {
			err = fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)
		}
		return tag.RowsAffected(), err
	})
	return o.explainWait(ctx, err, ready, self)
}

// EnqueueSQL is Enqueue for database/sql. The driver is pgx's (github.com/jackc/pgx/v5/stdlib) or
// lib/pq (tested with 1.12); a driver that does not accept slices as arrays fails on the first
// parameter, with an error that says so. InSQLTx begins and commits tx by itself.
func (o *Outbox) EnqueueSQL(ctx context.Context, tx *sql.Tx, msgs ...outbox.Message) error {
	began := time.Now()
	ready, err := o.enqueueSQL(ctx, tx, msgs)
	o.observe(ctx, outbox.EnqueueEvent{Messages: ready, Took: time.Since(began), Err: err})
	return err
}

func (o *Outbox) enqueueSQL(ctx context.Context, tx *sql.Tx, msgs []outbox.Message) ([]outbox.Message, error) {
	if tx == nil {
		return nil, fmt.Errorf("%w: tx is nil", outbox.ErrNotInTransaction)
	}
	ready, err := o.prepare.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return ready, err
	}
	instance, err := o.instanceID(ctx)
	if err != nil {
		return nil, err
	}
	take := func(keys []int64) error {
		return o.sqlLocks.find(tx).take(ctx, keys, o.cfg.MaxKeyLocks, o.heldInSQL(tx))
	}
	defer o.watch(ctx, ready, 0)()
	err = o.insert(ctx, ready, &instance, take, func(query string, args []any, rows int64) (int64, error) {
		n, compared, err := o.execSQL(ctx, tx, query, args, rows)
		switch {
		case errors.Is(err, sql.ErrTxDone):
			err = fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)
		case err == nil && n != rows:
			err = o.notStored(n, rows, compared)
		}
		return n, err
	})
	return ready, o.explainWait(ctx, err, ready, 0)
}

// EnqueueContext enqueues in the pgx.Tx or *sql.Tx that ctx carries: put there
// by InTx, ContextWithTx, ContextWithSQLTx, or by an inbox around a handler.
func (o *Outbox) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	if tx, ok := txctx.As[pgx.Tx](ctx); ok {
		return o.Enqueue(ctx, tx, msgs...)
	}
	if tx, ok := txctx.As[*sql.Tx](ctx); ok {
		return o.EnqueueSQL(ctx, tx, msgs...)
	}
	return fmt.Errorf("%w: the context carries no pgx.Tx or *sql.Tx", outbox.ErrNotInTransaction)
}

// insert runs the INSERT of each chunk of msgs, after take has agreed to the locks of their
// keys. exec returns how many rows were stored.
func (o *Outbox) insert(ctx context.Context, msgs []outbox.Message, instance *string,
	take func(keys []int64) error, exec func(sql string, args []any, rows int64) (int64, error),
) error {
	if err := failpoint.Inject(ctx, failpoint.ProducerBeforeInsert); err != nil {
		return err
	}
	locks, shared := o.locks(msgs)
	if len(locks) > 1 { // the outbox shared, and keys
		if err := take(locks[1:]); err != nil {
			return describe(err)
		}
	}
	for _, part := range chunks(msgs) {
		sql, args, err := o.statement(part, locks, shared, instance)
		if err != nil {
			return err
		}
		rows := int64(len(part))
		n, err := exec(sql, args, rows)
		if err != nil {
			return describe(err)
		}
		if n != rows {
			return o.notStored(n, rows, instance != nil)
		}
	}
	return failpoint.Inject(ctx, failpoint.ProducerAfterInsert)
}

// notStored is the error of an INSERT that has stored n of want rows. checked is set if the
// statement stores nothing in a different database.
func (o *Outbox) notStored(n, want int64, checked bool) error {
	suppressed := fmt.Sprintf("%d of %d messages stored: a trigger or a rule on %s suppresses rows, drop it", n, want, o.table)
	if checked && n == 0 {
		return fmt.Errorf("%w, or %s", outbox.ErrWrongDatabase, suppressed)
	}
	return errors.New("leat: " + suppressed)
}

// isSuppressed reports whether err is that of a statement of whole that has not stored all rows.
func isSuppressed(err error) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && answer.Code == pgerr.InvalidText && strings.Contains(answer.Message, notAll)
}

// suppressed returns the error for rows that the statement itself found missing, which err says.
func (o *Outbox) suppressed(err error) error {
	return fmt.Errorf("leat: a trigger or a rule on %s suppresses rows, drop it: %w", o.table, err)
}

// checkOpen refuses what is not an open transaction.
func checkOpen(tx pgx.Tx) error {
	if isNil(tx) {
		return fmt.Errorf("%w: tx is nil", outbox.ErrNotInTransaction)
	}
	if u := pgunit.Of(tx); u != nil && u.Unbegun() {
		return u.Failed() // it begins with its first statement
	}
	conn := pgunit.ConnOf(tx)
	if conn == nil || conn.PgConn().TxStatus() == 'I' && !conn.PgConn().IsBusy() {
		return fmt.Errorf("%w: tx has ended", outbox.ErrNotInTransaction)
	}
	return nil
}
