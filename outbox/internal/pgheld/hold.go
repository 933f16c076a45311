package pgheld

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Hold stores that rows of the newest window up to `to` are settled, of which settled
// are the last, and sets those of h aside, in one transaction. If the position is there
// already, nothing is changed: the answer to an earlier call was lost. pgwindow.ErrLost,
// and nothing written, if lease or window are no longer what the caller thinks.
func (s *Statements) Hold(
	ctx context.Context, conn *pgx.Conn, l pgwindow.Lease, to Position, settled []outbox.Record, h []driver.Holding,
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
	return s.write(ctx, conn, l, func(stored Position, b *pgx.Batch) error {
		switch {
		case stored.Window > to.Window, stored.Window == to.Window && stored.Last >= to.Last:
			return nil
		case stored.Window < to.Window:
			return fmt.Errorf("%w: window %d is stored, %d is read", pgwindow.ErrLost, stored.Window, to.Window)
		}
		s.window.QueueAdvance(b, l, to.Window, to.Last)
		b.Queue(s.hold, l.Slot.Group, l.Epoch, l.Owner,
			rows.seqs, what.names, what.attempts, what.errors, what.retryIn, what.reasons,
			rows.created, rows.occurred, rows.ids, rows.shards, rows.idTexts,
			rows.topics, rows.keys, rows.types, rows.payloads, rows.headers)
		b.Queue(s.settle, l.Slot.Group, touched.topics, touched.keys)
		return nil
	})
}
