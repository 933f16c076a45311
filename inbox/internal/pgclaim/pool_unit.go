package pgclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// PgxUnit is a driver.Unit of pgx. The messages that the handler enqueues are sent together with
// COMMIT.
type PgxUnit struct {
	*PgxConn

	Tx pgx.Tx

	lent     pgunit.Unit
	delivery context.Context //nolint:containedctx // of the handler; nil if none was lent
}

// Context implements driver.Unit.
func (u *PgxUnit) Context(ctx context.Context) context.Context {
	if u.delivery == nil {
		u.lent, u.delivery = *pgunit.Begun(ctx, u.Conn, u.Tx, unanswered), ctx
	}
	return txctx.With(ctx, pgx.Tx(handlerTx{&u.lent}))
}

func unanswered(err error) error { return fmt.Errorf("%w: %w", outbox.ErrCommitUnknown, err) }

// Commit implements driver.Unit. A COMMIT outside a transaction succeeds with a warning, so
// Commit must check whether the handler has ended the transaction by a statement of its own.
func (u *PgxUnit) Commit(ctx context.Context) error {
	defer u.Taken.Release()
	if !u.Conn.IsClosed() && u.Conn.PgConn().IsBusy() { // the pool closes the connection
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, ErrOpenRows)
	}
	ended := ended(u.Conn)
	if !ended && u.delivery != nil && u.lent.Keeps() {
		return u.commitWith(ctx)
	}
	err := u.Tx.Commit(ctx)
	if ended && !errors.Is(err, pgx.ErrTxClosed) {
		return driver.ErrEnded
	}
	return ExplainCommit(err)
}

// commitWith sends the enqueued messages and COMMIT together.
func (u *PgxUnit) commitWith(ctx context.Context) error {
	patient, done := u.patient(ctx)
	defer done()
	err := u.lent.FlushUnlessWhole(patient)
	if err == nil && !u.lent.Keeps() {
		return ExplainCommit(u.lent.Commit(patient))
	}
	if err == nil {
		err = u.lent.Commit(patient)
	}
	switch {
	case err == nil, errors.Is(err, outbox.ErrCommitUnknown):
		return err
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return ExplainCommit(err)
	default:
		Rollback(ctx, u.Conn)
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
}

// lookAgain is the interval at which a waiting commit checks whether another transaction blocks
// it.
const lookAgain = time.Second

// patient returns a context for a commit with messages. It ends with ctx, unless the commit is
// waiting for another transaction at that time: it may wait as long as the delivery lasts, like
// an Enqueue of the handler.
func (u *PgxUnit) patient(ctx context.Context) (_ context.Context, done func()) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	looked, waits := make(chan struct{}), u.lent.Waits()
	stop := context.AfterFunc(ctx, func() {
		defer close(looked)
		defer cancel()
		for u.delivery.Err() == nil && waits(patient) {
			_ = wait.For(patient, lookAgain)
		}
	})
	return patient, func() {
		cancel()
		if !stop() {
			<-looked
		}
	}
}

// ended reports whether conn is alive and not in a transaction.
func ended(conn *pgx.Conn) bool {
	return !conn.IsClosed() && !InTx(conn)
}

// Rollback implements driver.Unit.
func (u *PgxUnit) Rollback(ctx context.Context) error {
	defer u.Taken.Release()
	err := u.Tx.Rollback(ctx)
	if errors.Is(err, pgx.ErrTxClosed) { // by the handler
		return nil
	}
	return err
}
