package pgheld

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Redrive lets the relay try again what is selected. Of a parked key the first
// record is due and the others follow, whichever record was named. Dead records are
// held again, and tried before those of their key that are held behind them.
func (s *Statements) Redrive(ctx context.Context, db pgwindow.Beginner, group string, sel Selection, by By) (Changed, error) {
	return s.change(ctx, db, group, sel, by, func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error) {
		if dead {
			return tx.Query(ctx, s.redriveDead, group, seqs, by.Actor, by.Reason)
		}
		return tx.Query(ctx, s.redrive, group, seqs, by.Actor, by.Reason)
	}, s.pickToRedrive)
}

// Drop drops what is selected. A key is dropped from its end, so that nothing of
// it goes out in between. A filter selects parked records, not those behind them.
func (s *Statements) Drop(ctx context.Context, db pgwindow.Beginner, group string, sel Selection, by By) (Changed, error) {
	return s.change(ctx, db, group, sel, by, func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error) {
		if dead {
			return tx.Query(ctx, s.dropDead, group, seqs, by.Actor, by.Reason, "drop")
		}
		return tx.Query(ctx, s.drop, group, seqs, by.Actor, by.Reason, "drop")
	}, s.pickToDrop)
}

// SkipHead drops the first record of a key, which is parked.
func (s *Statements) SkipHead(ctx context.Context, db pgwindow.Beginner, group string, key Key, by By) (Changed, error) {
	sel := Selection{Topic: key.Topic, Key: key.Key, Limit: 1}
	return s.change(ctx, db, group, sel, by, func(tx pgx.Tx, seqs []int64, _ bool) (pgx.Rows, error) {
		return tx.Query(ctx, s.drop, group, seqs, by.Actor, by.Reason, "skip_head")
	}, func(ctx context.Context, tx pgx.Tx, group string, sel Selection) ([]int64, error) {
		seq, state, err := s.firstOf(ctx, tx, group, key)
		if err != nil || seq == 0 {
			return nil, err
		}
		if state != stateParked {
			return nil, fmt.Errorf("%w: the first of the %s", ErrBeingRetried, sel)
		}
		return []int64{seq}, nil
	})
}

// picker returns the places of the held records that are selected.
type picker func(ctx context.Context, tx pgx.Tx, group string, sel Selection) ([]int64, error)

// change picks, changes, and puts the keys right, in one transaction.
func (s *Statements) change(
	ctx context.Context, db pgwindow.Beginner, group string, sel Selection, by By,
	apply func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error), pick picker,
) (Changed, error) {
	if err := errors.Join(by.Check(), sel.Check(), checkTexts(map[string]string{"Group": group})); err != nil {
		return Changed{}, err
	}
	var changed Changed
	err := s.Locked(ctx, db, group, func(tx pgx.Tx) error {
		var seqs []int64
		var err error
		if !sel.Dead {
			seqs, err = pick(ctx, tx, group, sel)
		}
		dead := err == nil && len(seqs) == 0 && (sel.Dead || sel.ID != "")
		if dead {
			seqs, err = s.pickDeadOnes(ctx, tx, group, sel)
		}
		if err != nil {
			return err
		}
		if len(seqs) == 0 {
			if sel.filters() {
				return nil
			}
			return fmt.Errorf("%w: %s of group %q", ErrNotParked, sel, group)
		}
		rows, err := apply(tx, seqs, dead)
		if err != nil {
			return err
		}
		var touched keySet
		if changed, touched, err = collectChanged(rows); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.settle, group, touched.topics, touched.keys)
		return err
	})
	if err != nil {
		return Changed{}, err
	}
	return changed, nil
}

func collectChanged(rows pgx.Rows) (Changed, keySet, error) {
	var c Changed
	var touched keySet
	var seq int64
	var id, topic string
	var key *string
	_, err := pgx.ForEachRow(rows, []any{&seq, &id, &topic, &key}, func() error {
		c.Count++
		c.IDs = append(c.IDs, id)
		touched.add(topic, key)
		return nil
	})
	return c, touched, err
}
