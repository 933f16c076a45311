package pgwindow

import (
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// QueueAdvance queues Advance onto batch, for a transaction that stores something
// else with the position. The batch's results return ErrLost where nothing was
// changed; the transaction must be rolled back then.
func (s *Statements) QueueAdvance(batch *pgx.Batch, l Lease, w, last int64) {
	batch.Queue(s.advance, l.Slot.Group, l.Slot.No, w, last, l.Owner, l.Epoch).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: window %d cannot advance to %d", ErrLost, w, last)
		}
		return nil
	})
}
