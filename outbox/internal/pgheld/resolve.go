package pgheld

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Verdict is what became of a held record that was tried again. Its Fate is any but
// Wait.
type Verdict struct {
	Seq   int64
	Topic string
	Key   *string
	Fate
}

// Resolve stores verdicts, and returns those of their keys of which nothing is held
// any more. A record that is not held any more is passed over.
func (s *Statements) Resolve(ctx context.Context, conn *pgx.Conn, l pgwindow.Lease, v []Verdict) (free []Key, err error) {
	var seqs []int64
	var what fates
	var touched keySet
	for i := range v {
		seqs = append(seqs, v[i].Seq)
		if err := what.add(&v[i].Fate); err != nil {
			return nil, err
		}
		touched.add(v[i].Topic, v[i].Key)
	}
	group := l.Slot.Group
	err = s.write(ctx, conn, l, func(_ Position, b *pgx.Batch) error {
		b.Queue(s.leave, group, l.Epoch, l.Owner, seqs, what.names, what.errors, what.reasons)
		b.Queue(s.stay, group, l.Epoch, l.Owner, seqs, what.names, what.attempts, what.errors, what.retryIn, what.reasons)
		b.Queue(s.settle, group, touched.topics, touched.keys)
		b.Queue(s.free, group, touched.topics, touched.keys).Query(func(rows pgx.Rows) error {
			free, err = collectKeys(rows)
			return err
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return free, nil
}
