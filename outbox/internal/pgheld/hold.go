package pgheld

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Advance moves a reader's position in the transaction that sets its records aside: either both
// are stored, or neither is. It needs no round trip of its own.
type Advance interface {
	// QueueLook queues the query for the stored position, after the statements that begin the
	// transaction and check the lease. The result is kept for QueueMove. An error in its results
	// rolls the transaction back.
	QueueLook(batch *pgx.Batch)

	// QueueMove is called once that query has been answered. It queues the statements that move
	// the position, before those that store the records. It reports false, and queues nothing, if
	// the position is there already: the answer to an earlier call was lost, and nothing is
	// written. An error, here or in its results, rolls the transaction back: driver.ErrLeaseLost
	// if the stored position is not one that it can move.
	QueueMove(batch *pgx.Batch) (bool, error)
}

// Hold sets records of settled aside, as h says, and moves the position of l's owner by to, in one
// transaction. If the position is stored already, nothing changes. It returns driver.ErrLeaseLost, and
// writes nothing, if the lease or the position is not what the caller expects.
func (s *Statements) Hold(
	ctx context.Context, conn *pgx.Conn, l pglease.Lease, to Advance, settled []outbox.Record, h []driver.Holding,
) error {
	var rows columns
	var touched keySet
	what := fates{epoch: l.Epoch}
	for i := range h {
		if h[i].Index < 0 || h[i].Index >= len(settled) || h[i].Fate == driver.FateDelivered {
			return fmt.Errorf("leat: cannot hold record %d of %d that are settled, with fate %s", h[i].Index, len(settled), h[i].Fate)
		}
		row, err := rowOf(&settled[h[i].Index])
		if err != nil {
			return err
		}
		rows.add(&row)
		if err := what.add(h[i].Fate, h[i].Attempts, h[i].RetryIn, h[i].Reason); err != nil {
			return err
		}
		touched.add(row.topic, row.key)
	}
	return s.write(ctx, conn, l, to, func(b *pgx.Batch) error {
		if moves, err := to.QueueMove(b); err != nil || !moves {
			return err
		}
		b.Queue(s.hold, l.Slot.Group, l.Epoch, l.Owner,
			rows.seqs, what.names, what.attempts, what.errors, what.retryIn, what.reasons,
			rows.created, rows.occurred, rows.ids, rows.shards, rows.idTexts,
			rows.topics, rows.keys, rows.types, rows.payloads, rows.headers)
		b.Queue(s.settle, l.Slot.Group, touched.topics, touched.keys)
		return nil
	})
}
