package pgheld

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// cleanUpTimeout bounds the rollback of what has failed.
const cleanUpTimeout = 5 * time.Second

// Position is how far a slot is settled: rows of a window up to a number.
type Position struct {
	Window, Last int64
}

// begin begins a transaction of the lease's holder, in one round trip: the lock of
// its group, then the fence, then the stored position. pgwindow.ErrLost where the
// lease is another's.
func (s *Statements) begin(ctx context.Context, conn *pgx.Conn, l pgwindow.Lease) (pgx.Tx, Position, error) {
	var stored Position
	var epoch int64
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	batch.Queue(s.lock, s.lockOf(l.Slot.Group))
	batch.Queue(s.fence, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&epoch)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: epoch %d of %s", pgwindow.ErrLost, l.Epoch, l.Owner)
		}
		return err
	})
	batch.Queue(s.position, l.Slot.Group, l.Slot.No).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&stored.Window, &stored.Last)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: no position of group %q", pgwindow.ErrLost, l.Slot.Group)
		}
		return err
	})
	results := conn.SendBatch(ctx, batch)
	tx := results.Tx()
	if err := results.Close(); err != nil {
		undo(ctx, conn)
		return nil, Position{}, err
	}
	return tx, stored, nil
}

// write does work in a transaction of l's holder, if work says that there is any.
func (s *Statements) write(ctx context.Context, conn *pgx.Conn, l pgwindow.Lease, work func(stored Position, b *pgx.Batch) error) error {
	tx, stored, err := s.begin(ctx, conn, l)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	if err = work(stored, batch); err == nil && batch.Len() > 0 {
		if err = tx.SendBatch(ctx, batch).Close(); err == nil {
			err = tx.Commit(ctx)
		}
	}
	undo(ctx, conn)
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
