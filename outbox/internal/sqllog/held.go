package sqllog

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ driver.Holder = (*session)(nil)

// lookHeld runs work on the records that the group has set aside, if this session holds the
// lease.
func (s *session) lookHeld(ctx context.Context, work func(r heldqueue.Reader) error) error {
	return s.reading.Use(ctx, func(conn *sql.Conn) error {
		return s.log.Describe(s.log.within(ctx, conn, func(q sqlstore.Querier) error {
			held, err := s.log.lead(ctx, q, "group", s)
			if err != nil {
				return err
			}
			return work(held)
		}))
	})
}

// changeHeld runs work in a transaction under the lock of the group, if this session holds the
// lease.
func (s *session) changeHeld(ctx context.Context, work func(tx *HeldTx) error) error {
	return s.writing.Use(ctx, func(conn *sql.Conn) error {
		return s.log.ChangeOn(ctx, conn, func(tx *sql.Tx) error {
			held, err := s.log.lead(ctx, tx, "group_lock", s)
			if err != nil {
				return err
			}
			return work(held)
		})
	})
}

// lead returns the held records of the session's group, or driver.ErrLeaseLost.
func (l *Log) lead(ctx context.Context, q sqlstore.Querier, statement string, s *session) (*HeldTx, error) {
	s.mu.Lock()
	rev := s.rev
	s.mu.Unlock()
	g, err := l.Group(ctx, q, statement, s.reader.Group)
	switch {
	case sqlstore.IsNoRows(err):
		return nil, driver.ErrLeaseLost // the group was removed
	case err != nil:
		return nil, err
	case g.Owner != s.owner || g.Epoch != s.epoch || g.Rev < rev || g.Left <= 0:
		return nil, driver.ErrLeaseLost
	}
	return &HeldTx{log: l, q: q, group: s.reader.Group, now: g.Now}, nil
}

func (s *session) relay() heldqueue.Relay {
	return heldqueue.Relay{Owner: s.owner, Epoch: s.epoch}
}

// HeldKeys implements driver.Holder.
func (s *session) HeldKeys(ctx context.Context) (keys []driver.Key, err error) {
	err = s.lookHeld(ctx, func(r heldqueue.Reader) error {
		keys, err = heldqueue.Keys(ctx, r, heldqueue.Share{})
		return err
	})
	return keys, err
}

// CountHeld implements driver.Holder.
func (s *session) CountHeld(ctx context.Context) (n int, err error) {
	err = s.lookHeld(ctx, func(r heldqueue.Reader) error {
		n, err = r.Count(ctx, heldqueue.Share{})
		return err
	})
	return n, err
}

// Due implements driver.Holder.
func (s *session) Due(ctx context.Context, limit int, except []string) (due []driver.Held, err error) {
	err = s.lookHeld(ctx, func(r heldqueue.Reader) error {
		due, err = heldqueue.Due(ctx, r, heldqueue.Want{Except: except, Limit: limit, Bytes: heldqueue.MaxDueBytes})
		return err
	})
	return due, err
}

// hastened is the number of records that one transaction of Hasten makes due.
const hastened = 500

// Hasten implements driver.Holder. If there is nothing to do, which is nearly always the case, it
// writes nothing.
func (s *session) Hasten(ctx context.Context, within time.Duration) error {
	var left int
	err := s.lookHeld(ctx, func(r heldqueue.Reader) error {
		rows, err := heldqueue.Far(ctx, r, within)
		left = len(rows)
		return err
	})
	for ; left > 0 && err == nil; left -= hastened {
		err = s.changeHeld(ctx, func(tx *HeldTx) error {
			_, err := heldqueue.Hasten(ctx, tx, within, hastened)
			return err
		})
	}
	return err
}

// Hold implements driver.Holder: the records are set aside and the position is stored in
// one transaction.
func (s *session) Hold(ctx context.Context, p driver.Page, n int, holdings []driver.Holding) error {
	if err := heldqueue.CheckHoldings(n, holdings); err != nil {
		return err
	}
	to, err := s.settle(p, n)
	if err != nil || to.cursor == nil {
		return err
	}
	// Records that were settled before belong to an earlier call whose answer was lost.
	fresh := slices.DeleteFunc(slices.Clone(holdings), func(h driver.Holding) bool { return h.Index < to.before })
	var next int64
	err = s.changeHeld(ctx, func(tx *HeldTx) error {
		if err := heldqueue.Hold(ctx, tx, s.relay(), p.Records, fresh); err != nil {
			return err
		}
		var err error // it may have expired in the meantime
		next, err = s.writeOn(ctx, tx.q, "advance", to.Last, []byte(EncodeGaps(to.Gaps)))
		return err
	})
	if err == nil {
		s.wrote(next)
		s.note(to)
	}
	return err
}

// Resolve implements driver.Holder.
func (s *session) Resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	err = s.changeHeld(ctx, func(tx *HeldTx) error {
		free, err = heldqueue.Resolve(ctx, tx, s.relay(), verdicts)
		return err
	})
	return free, err
}

// Records implements heldqueue.Reader.
func (t *HeldTx) Records(ctx context.Context, rows []heldqueue.Row) (all []outbox.Record, err error) {
	seqs := make([]int64, len(rows))
	for i := range rows {
		seqs[i] = rows[i].Seq
	}
	slices.Sort(seqs)
	for part := range slices.Chunk(seqs, MaxRows) {
		next := NewRecordScan()
		err := sqlstore.Each(ctx, t.q, func(scan sqlstore.Scanner) error {
			r, err := next.Next(scan)
			all = append(all, r)
			return err
		}, t.log.SQL.With("held_records", sqldialect.Places(len(part))), append([]any{[]byte(t.group)}, sqlstore.Anys(part)...)...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
