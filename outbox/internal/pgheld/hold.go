package pgheld

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Holding sets one record aside. Its Fate is any but Delivered.
type Holding struct {
	Row
	Fate
}

// Hold stores that rows of the newest window up to `to` are settled, and sets those
// of h aside, in one transaction. Where the position is there already, nothing
// is changed: the answer to an earlier call was lost. pgwindow.ErrLost, and nothing
// written, where lease or window are no longer what the caller thinks.
func (s *Statements) Hold(ctx context.Context, conn *pgx.Conn, l pgwindow.Lease, to Position, h []Holding) error {
	var rows columns
	var what fates
	var touched keySet
	for i := range h {
		rows.add(&h[i].Row)
		if err := what.add(&h[i].Fate); err != nil {
			return err
		}
		touched.add(h[i].Topic, h[i].Key)
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
