package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
)

// pipeOutcome is the outcome of a pipeline that starts with the claim.
type pipeOutcome int

const (
	pipeRan     pipeOutcome = iota + 1 // the message was claimed, or that is unknown
	pipeRefused                        // the message was not claimed, or the commit would not have been durable
	pipeStopped                        // nothing was run: a statement could not be sent
	pipeLost                           // nothing was committed, and the connection is gone
	pipeForgot                         // the claim was run, but the server has not inserted the id
)

// pipeUnit is a unit whose statements and COMMIT are sent ahead.
type pipeUnit struct {
	pgclaim.PgxUnit

	q         *queued
	commitErr error // of a COMMIT that was sent
}

var _ driver.Unit = (*pipeUnit)(nil)

// begin sends BEGIN, the claim, the statements, and COMMIT, unless a callback must run before it.
func (u *pipeUnit) begin(
	ctx context.Context, claim string, args []any, statements *pgx.Batch,
) (pipeOutcome, error) {
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: u.Isolation})
	batch.Queue(claim, args...)
	commits := fill(batch, statements)

	results := u.Conn.SendBatch(ctx, batch)
	_, err := results.Exec()
	var claimed pgconn.CommandTag
	if err == nil {
		claimed, err = results.Exec()
	}
	forgot := err == nil && claimed.RowsAffected() != 1
	if err == nil && !forgot {
		u.Tx = results.Tx()
		u.receive(results, batch.QueuedQueries[2:], commits)
		return pipeRan, nil
	}
	forget(batch, 2)
	_ = results.Close() // the same error
	switch {
	case forgot:
		return pipeForgot, pgclaim.ErrNotRemembered
	case u.Conn.IsClosed() && commits:
		// Perhaps nothing was sent. But pgconn.SafeToRetry is also true for a connection that is
		// lost while the first result is read.
		u.commitErr = err
		return pipeRan, nil
	case u.Conn.IsClosed():
		return pipeLost, err
	case byServer(err) && pgerr.Is(err, pgerr.DivisionByZero, pgerr.UniqueViolation, pgerr.SerializationFailure):
		return pipeRefused, err
	default:
		return pipeStopped, err
	}
}

// send sends the statements, and COMMIT, unless a callback must run before it.
func (u *pipeUnit) send(ctx context.Context, statements *pgx.Batch) {
	batch := &pgx.Batch{}
	commits := fill(batch, statements)
	u.receive(u.Conn.SendBatch(ctx, batch), batch.QueuedQueries, commits)
}

// fill queues copies of the statements, since a query can be sent only once, and COMMIT if there
// are no callbacks.
func fill(batch, statements *pgx.Batch) (commits bool) {
	for _, s := range statements.QueuedQueries {
		batch.Queue(s.SQL, s.Arguments...).Fn = s.Fn
	}
	if callbacks(statements) {
		return false
	}
	batch.Queue(`commit`)
	return true
}

// receive reads the results of the statements. The last of them is COMMIT if commits is set. An
// error before the result of a COMMIT that was sent leaves the outcome unknown, unless the error
// is the server's: the server skips everything after a failed statement.
func (u *pipeUnit) receive(results pgx.BatchResults, statements []*pgx.QueuedQuery, commits bool) {
	var ended bool
	last := len(statements) - 1
	for i, s := range statements {
		tag, err := receive(results, s)
		if err == nil && commits && i < last {
			ended = ended || endsTransaction(tag)
			continue
		}
		if err == nil && commits && tag.String() == "ROLLBACK" {
			err = pgx.ErrTxCommitRollback
		}
		if err == nil {
			continue
		}
		for _, s := range statements[i:] {
			s.Fn = nil
		}
		_ = results.Close() // the same error
		if commits && (i == last || u.Conn.IsClosed()) {
			u.commitErr = err
		} else {
			u.q.err = err
		}
		return
	}
	err := results.Close()
	switch {
	case !commits:
		u.q.err = err
	case ended:
		u.commitErr = driver.ErrEnded
	default:
		u.q.committed = true // even if the connection has failed since
	}
}

// endsTransaction reports whether tag is that of a statement that ends the transaction. ROLLBACK
// TO SAVEPOINT has the same tag: it is not worth distinguishing, since the only consequence is
// another delivery.
func endsTransaction(tag pgconn.CommandTag) bool {
	switch tag.String() {
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
		return true
	default:
		return false
	}
}

// Context implements driver.Unit. Only the queued statements may write in the transaction.
func (u *pipeUnit) Context(ctx context.Context) context.Context {
	return ctx
}

// Commit implements driver.Unit.
func (u *pipeUnit) Commit(ctx context.Context) error {
	switch {
	case u.q.committed:
		_ = u.Release()
		return nil
	case u.commitErr != nil:
		_ = u.Release()
		return pgclaim.ExplainCommit(u.commitErr)
	default:
		return u.PgxUnit.Commit(ctx)
	}
}

// Rollback implements driver.Unit. If COMMIT was already sent there is nothing to roll back:
// HandleQueued handles that.
func (u *pipeUnit) Rollback(ctx context.Context) error {
	if u.q.committed || u.commitErr != nil {
		pgclaim.Rollback(ctx, u.Conn)
		_ = u.Release()
		return nil //nolint:nilerr // the commit's error is reported there
	}
	return u.PgxUnit.Rollback(ctx)
}
