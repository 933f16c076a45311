package pgheld

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// cleanUpTimeout bounds the rollback of what has failed.
const cleanUpTimeout = 5 * time.Second

// begin begins a transaction of the lease's holder, in one round trip: the lock of its group,
// then the fence, then the query for the position to move, unless to is nil. driver.ErrLeaseLost
// if another session has the lease.
func (s *Statements) begin(ctx context.Context, conn *pgx.Conn, l pglease.Lease, to Advance) (pgx.Tx, error) {
	var epoch int64
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	batch.Queue(s.lock, s.lockOf(l.Slot.Group))
	batch.Queue(s.fence, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&epoch)
		if errors.Is(err, pgx.ErrNoRows) {
			return l.Lost()
		}
		return err
	})
	if to != nil {
		to.QueueLook(batch)
	}
	results := conn.SendBatch(ctx, batch)
	tx := results.Tx()
	if err := results.Close(); err != nil {
		undo(ctx, conn)
		return nil, err
	}
	return tx, nil
}

// write runs what queue queues in a transaction of l's holder, if it queues anything.
func (s *Statements) write(ctx context.Context, conn *pgx.Conn, l pglease.Lease, to Advance, queue func(b *pgx.Batch) error) error {
	tx, err := s.begin(ctx, conn, l, to)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	if err = queue(batch); err == nil && batch.Len() > 0 {
		if err = tx.SendBatch(ctx, batch).Close(); err == nil {
			err = tx.Commit(ctx)
		}
	}
	undo(ctx, conn)
	return taken(err)
}

// taken translates the error of a record that would be set aside under the number of another: the
// statements cause it with an id that is null.
func taken(err error) error {
	if pgerr.Is(err, pgerr.NotNullViolation) {
		return fmt.Errorf("%w: %w", heldqueue.ErrNumberTaken, err)
	}
	return err
}

// undo rolls back what is still open, so that the connection can go on.
func undo(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = conn.Close(ctx) // the server ends the transaction with it
	}
}
