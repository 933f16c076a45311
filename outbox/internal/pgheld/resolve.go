package pgheld

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

var errVerdict = errors.New("leat: a verdict needs a record, and another fate than wait")

// Resolve stores verdicts, and returns those of their keys that have no held record any more. A
// record that is no longer held is skipped. It returns driver.ErrLeaseLost, and writes nothing,
// if another session has the lease.
func (s *Statements) Resolve(ctx context.Context, conn *pgx.Conn, l pglease.Lease, v []driver.Verdict) (free []driver.Key, err error) {
	if len(v) == 0 {
		return nil, nil
	}
	var seqs []int64
	var touched keySet
	what := fates{epoch: l.Epoch}
	for i := range v {
		if v[i].Record == nil || v[i].Fate == driver.FateWait {
			return nil, errVerdict
		}
		seqs = append(seqs, v[i].Record.Seq)
		if err := what.add(v[i].Fate, v[i].Attempts, v[i].RetryIn, v[i].Reason); err != nil {
			return nil, err
		}
		touched.add(v[i].Record.Topic, orNull(v[i].Record.Key))
	}
	group := l.Slot.Group
	err = s.write(ctx, conn, l, nil, func(b *pgx.Batch) error {
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
