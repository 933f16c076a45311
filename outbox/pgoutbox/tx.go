package pgoutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// InTx runs fn in a transaction of the outbox's pool, commits it and wakes the
// relays of this process, and with RunNotifier those of others. An error or a panic of fn rolls back. The context that
// fn is given carries tx, so that EnqueueContext and Watermill publishers on it
// enqueue in the same transaction.
//
// BEGIN is sent with the first statement of fn, and enqueued messages with COMMIT, so a
// transaction with messages takes fewer round trips than one without leat. Messages are checked
// as they are enqueued, and inserted before a statement that names the outbox's table, a
// savepoint or a COPY, and before tx.Conn is lent. An error of the INSERT, such as of a wait for
// a key that takes too long, is therefore one of InTx. A view or a function that reads the outbox
// does not see them (Config.InsertAtOnce).
//
// If ctx ends while COMMIT waits for a key, the server is asked to cancel it, and InTx returns
// the server's answer. If the connection breaks after COMMIT was sent, the transaction may have
// been committed: the error wraps outbox.ErrCommitUnknown. Before you retry, check in the new
// transaction whether the first one committed, such as by the key of a row that fn writes.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := o.inUnit(ctx, func(tx pgx.Tx) error { return fn(ContextWithTx(ctx, tx), tx) })
	if err != nil {
		return err
	}
	return o.committed(ctx)
}

// begin runs fn in a transaction, and commits it. It records itself whether COMMIT was sent:
// pgconn.SafeToRetry is also true if the answer was lost (pgx 5.12).
func (o *Outbox) begin(ctx context.Context, fn func(tx pgx.Tx) error) error {
	committing := false
	err := pgx.BeginFunc(ctx, o.pool.Sessions, func(tx pgx.Tx) error {
		err := fn(tx)
		if conn := tx.Conn(); err == nil && !conn.IsClosed() && conn.PgConn().IsBusy() {
			err = errOpenRows
		}
		discard(ctx, tx.Conn(), err)
		committing = err == nil && ctx.Err() == nil && !tx.Conn().IsClosed()
		return err
	})
	if err == nil || !committing {
		return err
	}
	return commitError(err)
}

// commitError returns the error of a COMMIT that was sent.
func commitError(err error) error {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgx.ErrTxCommitRollback) ||
		answered && pgerr.Refused(answer.SeverityUnlocalized, answer.Code) {
		return err
	}
	return unknownCommit(err)
}

// errOpenRows is the error of a function that has left rows open: nothing can be sent, not even
// COMMIT, and the transaction is rolled back.
var errOpenRows = errors.New("leat: rows of a query are still open as the transaction is to commit: close them, or read them with pgx.CollectRows")

func unknownCommit(err error) error {
	return fmt.Errorf("%w: %w", outbox.ErrCommitUnknown, err)
}

// committed wakes the relays.
func (o *Outbox) committed(ctx context.Context) error {
	if err := failpoint.Inject(ctx, failpoint.ProducerCommitAmbiguous); err != nil {
		return unknownCommit(err)
	}
	if failpoint.Inject(ctx, failpoint.ProducerAfterCommitBeforeWake) == nil {
		o.Wake()
	}
	return nil
}

// InSQLTx is InTx for database/sql, with an outbox of NewSQL. It returns an error with any other.
func (o *Outbox) InSQLTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if o.db == nil {
		return errNoSQL
	}
	// database/sql also passes the context to the driver's COMMIT, and rolls back when it ends.
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	conn, tx, err := o.beginSQL(txCtx)
	if err != nil {
		return pgerr.Standby(err)
	}
	defer func() { _ = conn.Close() }()
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	if err := fn(ContextWithSQLTx(ctx, tx), tx); err != nil {
		if pgerr.Unfit(err) { // see discard
			_ = tx.Rollback()
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := tx.Commit(); errors.Is(err, sql.ErrTxDone) {
		return err
	} else if err != nil {
		return commitError(err)
	}
	return o.committed(ctx)
}

// brokenConns is how many connections of a pool may have broken while it was idle.
const brokenConns = 10

// beginSQL begins a transaction on a connection, which the caller closes after it. A connection
// that has broken in the pool is skipped, as in sql.DB.
func (o *Outbox) beginSQL(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	for try := 1; ; try++ {
		conn, err := o.db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			return conn, tx, nil
		}
		_ = conn.Close()
		if try == brokenConns || !errors.Is(err, driver.ErrBadConn) {
			return nil, nil, err
		}
	}
}

var errNoSQL = errors.New("leat: InSQLTx needs an outbox of pgoutbox.NewSQL; with a pgx pool, use InTx")

// Wake notifies the relays of this process, and with RunNotifier those of others, that a
// transaction has committed. Call it after you commit your own transaction; without it they find
// the messages by polling. It never blocks.
func (o *Outbox) Wake() {
	o.bell.ring()
}

// ContextWithTx returns a context that carries tx, for EnqueueContext.
func ContextWithTx(ctx context.Context, tx pgx.Tx) context.Context {
	return txctx.With(ctx, tx)
}

// ContextWithSQLTx returns a context that carries tx, for EnqueueContext.
func ContextWithSQLTx(ctx context.Context, tx *sql.Tx) context.Context {
	return txctx.With(ctx, tx)
}
