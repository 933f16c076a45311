package pgheld

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Redrive makes the relay try the selected records again. The first record of a key is due and
// the others follow, whichever record was named. Dead records are held again, and tried before
// the held records of their key that come after them. For records in flight at a relay, see
// heldqueue.Operators.
func (s *Statements) Redrive(ctx context.Context, db pglease.Beginner, req admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	if req.Stop {
		return s.change(ctx, db, req.Group, req.Selection, req.DryRun, s.pickToStop, func(tx pgx.Tx, seqs []int64, _ bool) (pgx.Rows, error) {
			return tx.Query(ctx, s.park, req.Group, seqs, req.Actor, req.Reason, known(req.By))
		})
	}
	return s.change(ctx, db, req.Group, req.Selection, req.DryRun, s.pickToRedrive, func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error) {
		if dead {
			return tx.Query(ctx, s.redriveDead, req.Group, seqs, req.Actor, req.Reason, known(req.By))
		}
		return tx.Query(ctx, s.redrive, req.Group, seqs, req.Actor, req.Reason, known(req.By))
	})
}

// Drop drops the selected records. A key is dropped from its end, so that none of its records is
// sent in between. A filter selects parked records, not those behind them.
func (s *Statements) Drop(ctx context.Context, db pglease.Beginner, req admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	return s.change(ctx, db, req.Group, req.Selection, req.DryRun, s.pickToDrop, func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error) {
		if dead {
			return tx.Query(ctx, s.dropDead, req.Group, seqs, req.Actor, req.Reason, "drop", known(req.By))
		}
		return tx.Query(ctx, s.drop, req.Group, seqs, req.Actor, req.Reason, "drop", known(req.By))
	})
}

// SkipHead drops the first record of a key.
func (s *Statements) SkipHead(ctx context.Context, db pglease.Beginner, req admin.SkipHeadRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	sel := admin.Selection{Topic: req.Key.Topic, Key: req.Key.Key}
	return s.change(ctx, db, req.Group, sel, req.DryRun, s.pickHead(req), func(tx pgx.Tx, seqs []int64, _ bool) (pgx.Rows, error) {
		return tx.Query(ctx, s.drop, req.Group, seqs, req.Actor, req.Reason, "skip_head", known(req.By))
	})
}

// picker returns the places of the selected held records.
type picker func(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error)

// change picks records, applies the request, and settles the keys, in one transaction.
func (s *Statements) change(
	ctx context.Context, db pglease.Beginner, group string, sel admin.Selection, dryRun bool, pick picker,
	apply func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error),
) (changed admin.Changed, err error) {
	if dryRun {
		err = s.looking(ctx, db, func(tx pgx.Tx) error {
			changed, _, err = s.selected(ctx, tx, group, sel, pick, func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error) {
				if dead {
					return tx.Query(ctx, s.lookDead, group, seqs)
				}
				return tx.Query(ctx, s.look, group, seqs)
			})
			return err
		})
		return changed, err
	}
	err = s.Locked(ctx, db, group, func(tx pgx.Tx) error {
		var touched keySet
		if changed, touched, err = s.selected(ctx, tx, group, sel, pick, apply); err != nil || changed.Count == 0 {
			return err
		}
		_, err = tx.Exec(ctx, s.settle, group, touched.topics, touched.keys)
		return err
	})
	if err != nil {
		return admin.Changed{}, taken(err)
	}
	return changed, nil
}

// looking runs work in a read-only transaction that does not block relays.
func (s *Statements) looking(ctx context.Context, db pglease.Beginner, work func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, work)
}

// selected applies the request to the selected records, and returns them with their keys.
func (s *Statements) selected(
	ctx context.Context, tx pgx.Tx, group string, sel admin.Selection, pick picker,
	apply func(tx pgx.Tx, seqs []int64, dead bool) (pgx.Rows, error),
) (admin.Changed, keySet, error) {
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
		return admin.Changed{}, keySet{}, err
	}
	if len(seqs) == 0 {
		if sel.Filters() {
			return admin.Changed{}, keySet{}, nil
		}
		return admin.Changed{}, keySet{}, fmt.Errorf("%w: %s of group %q", admin.ErrNotParked, sel, group)
	}
	rows, err := apply(tx, seqs, dead)
	if err != nil {
		return admin.Changed{}, keySet{}, err
	}
	return collectChanged(rows)
}

func collectChanged(rows pgx.Rows) (admin.Changed, keySet, error) {
	var c admin.Changed
	var touched keySet
	var seq int64
	var id, topic string
	var key *string
	var since time.Time
	_, err := pgx.ForEachRow(rows, []any{&seq, &id, &topic, &key, &since}, func() error {
		c.Add(id, topic, orEmpty(key), since)
		touched.add(topic, key)
		return nil
	})
	return c, touched, err
}

// known returns the details of by that the audit keeps in addition to actor and reason.
func known(by admin.By) string {
	return string(by.Annotate(json.RawMessage("{}")))
}
