package pgunit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/pgerr"
)

// Rollback implements pgx.Tx.
func (u *Unit) Rollback(ctx context.Context) error {
	if u.ended {
		return pgx.ErrTxClosed
	}
	u.ended, u.kept = true, nil
	if u.tx == nil {
		return nil
	}
	return u.tx.Rollback(ctx)
}

// Commit implements pgx.Tx.
func (u *Unit) Commit(ctx context.Context) error {
	if u.ended {
		return pgx.ErrTxClosed
	}
	if u.failed != nil {
		return u.failed
	}
	if u.conn.PgConn().IsBusy() {
		u.kept = nil // COMMIT fails
	}
	if err := u.FlushUnlessWhole(ctx); err != nil {
		return err
	}
	switch {
	case len(u.kept) > 0:
		return u.commitWith(ctx)
	case u.tx == nil:
		u.ended = true
		return nil
	default:
		u.ended = true
		return u.tx.Commit(ctx)
	}
}

// Sends reports whether Commit would send a COMMIT alone.
func (u *Unit) Sends(ctx context.Context) bool {
	return u.tx != nil && ctx.Err() == nil && !u.conn.IsClosed() && len(u.kept) == 0
}

// FlushUnlessWhole writes the kept statements, unless they may go with COMMIT.
func (u *Unit) FlushUnlessWhole(ctx context.Context) error {
	if len(u.kept) == 0 || u.mayGoWithCommit() {
		return nil
	}
	return u.flush(ctx)
}

// mayGoWithCommit reports whether the kept statements can go with COMMIT, in a transaction without
// an error.
func (u *Unit) mayGoWithCommit() bool {
	conn := u.conn.PgConn()
	inOrder := u.tx == nil && conn.TxStatus() == 'I' || u.tx != nil && conn.TxStatus() == 'T'
	return !conn.IsClosed() && inOrder &&
		!slices.ContainsFunc(u.kept, func(k Kept) bool { return !k.Whole(u.conn) })
}

// commitWith writes the kept statements and commits, in one round trip.
func (u *Unit) commitWith(ctx context.Context) (err error) {
	kept := u.kept
	u.kept = nil
	var b pgx.Batch
	all := make([]func(error) error, 0, len(kept))
	defer func() {
		for _, done := range all {
			err = done(err)
		}
	}()
	for _, k := range kept {
		done, err := k.Queue(ctx, u.conn, &b)
		all = append(all, done)
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.tx != nil {
		b.Queue("commit")
	}
	tag, err := u.answer(ctx, &b)
	if u.untouched() { // it has ended, and pgx's transaction does not know
		u.ended, u.tx = true, closedTx()
	}
	switch {
	case err == nil && tag.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	case err == nil:
		return nil
	case u.ended || isAnswer(err):
		if gone := ctx.Err(); gone != nil {
			err = fmt.Errorf("%w: %w", gone, err)
		}
		return err
	default:
		u.ended = true
		return u.lost(err)
	}
}

// isAnswer reports whether err is the server's answer that it has not committed.
func isAnswer(err error) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && pgerr.Refused(answer.SeverityUnlocalized, answer.Code)
}

// answer sends b and waits for its answer. If ctx ends first, the server is asked to cancel, and
// its answer still counts: if the connection were closed instead, the commit could happen later,
// when the key that it waits for is free.
func (u *Unit) answer(ctx context.Context, b *pgx.Batch) (tag pgconn.CommandTag, err error) {
	if ctx.Done() == nil {
		return u.send(ctx, b)
	}
	waits, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	answered, cancelled := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		bounded, cancel := context.WithTimeout(waits, answerTimeout)
		defer cancel()
		_ = u.conn.PgConn().CancelRequest(bounded) // unless it reaches the server, the wait is bounded
		select {
		case <-answered:
		case <-bounded.Done():
			giveUp()
		}
	})
	tag, err = u.send(waits, b)
	close(answered)
	if !stop() {
		<-cancelled
		// The request may arrive only now, and would cancel another client's statement.
		if !pgerr.Is(err, pgerr.QueryCanceled) && !u.conn.IsClosed() {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
			defer cancel()
			_ = u.conn.Close(bounded)
		}
	}
	return tag, err
}

// send sends b, and returns the tag of its last statement.
func (u *Unit) send(ctx context.Context, b *pgx.Batch) (tag pgconn.CommandTag, err error) {
	results := u.conn.SendBatch(ctx, b)
	for range b.Len() {
		if tag, err = results.Exec(); err != nil {
			break
		}
	}
	return tag, closeAfter(results, err)
}
