package pgheld

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// States of held records, as they are stored.
const (
	stateRetry  = "retry"
	stateWait   = "wait"
	stateParked = "parked"
)

// pickToRedrive returns the parked records that are selected, or that the selected records wait
// for. For a key that is named and not parked, it returns the first record, which is being tried
// again: it becomes due at once.
func (s *Statements) pickToRedrive(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
	if sel.ID == "" {
		return s.pickParkedOnes(ctx, tx, group, sel)
	}
	found, err := s.findByID(ctx, tx, group, sel)
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for _, f := range found {
		if f.State != stateWait {
			seqs = append(seqs, f.Seq)
			continue
		}
		more, err := s.pickParkedOnes(ctx, tx, group, admin.Selection{Topic: f.Topic, Key: f.Key, Limit: sel.Limit})
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, more...)
	}
	return seqs, nil
}

// pickToStop returns the selected records that are being tried again.
func (s *Statements) pickToStop(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
	args := slices.Concat([]any{group}, keyArgs(sel), idArgs(sel), filterArgs(sel), []any{sel.Limit})
	seqs, err := collectSeqs(tx.Query(ctx, s.pickRetried, args...))
	if err == nil && len(seqs) == 0 && sel.ID != "" { // a dead one does not count
		err = fmt.Errorf("%w: record %.200q is not tried again in group %q", admin.ErrNotParked, sel.ID, group)
	}
	return seqs, err
}

// pickToDrop returns the selected records; with a filter, only parked ones.
func (s *Statements) pickToDrop(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
	switch {
	case sel.ID != "":
		found, err := s.findByID(ctx, tx, group, sel)
		var seqs []int64
		for _, f := range found {
			seqs = append(seqs, f.Seq)
		}
		return seqs, err
	case sel.Key != "":
		return collectSeqs(tx.Query(ctx, s.pickLine, group, sel.Topic, sel.Key, sel.Limit))
	default:
		return s.pickParkedOnes(ctx, tx, group, sel)
	}
}

// pickHead returns a function that picks the first record of the selected key, if it is the one
// that the request names.
func (s *Statements) pickHead(req admin.SkipHeadRequest) picker {
	return func(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
		first, err := s.firstOf(ctx, tx, group, driver.Key{Topic: sel.Topic, Key: sel.Key})
		if err != nil || first.Seq == 0 {
			return nil, err
		}
		if err := req.CheckFirst(first.ID); err != nil {
			return nil, err
		}
		return []int64{first.Seq}, nil
	}
}

// pickParkedOnes returns the parked records that are selected by key or by filter; for a key
// without any, its first record.

func (s *Statements) pickParkedOnes(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
	args := slices.Concat([]any{group}, keyArgs(sel), filterArgs(sel), []any{sel.Limit})
	seqs, err := collectSeqs(tx.Query(ctx, s.pickParked, args...))
	if err != nil || len(seqs) > 0 || sel.Key == "" {
		return seqs, err
	}
	first, err := s.firstOf(ctx, tx, group, driver.Key{Topic: sel.Topic, Key: sel.Key})
	if err == nil && first.Seq != 0 {
		seqs = []int64{first.Seq}
	}
	return seqs, err
}

func (s *Statements) pickDeadOnes(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]int64, error) {
	args := slices.Concat([]any{group}, keyArgs(sel), idArgs(sel), filterArgs(sel), []any{sel.Limit})
	return collectSeqs(tx.Query(ctx, s.pickDead, args...))
}

// head is the first held record of a key.
type head struct {
	Seq int64
	ID  string
}

// firstOf returns the first held record of key; Seq is 0 if there is none.
func (s *Statements) firstOf(ctx context.Context, tx pgx.Tx, group string, key driver.Key) (h head, err error) {
	err = tx.QueryRow(ctx, s.first, group, key.Topic, key.Key).Scan(&h.Seq, &h.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return head{}, nil
	}
	return h, err
}

// found is a held record that was searched by its id.
type found struct {
	Seq        int64
	State      string
	Topic, Key string
}

// findByID returns the held records with an id.
func (s *Statements) findByID(ctx context.Context, tx pgx.Tx, group string, sel admin.Selection) ([]found, error) {
	rows, err := tx.Query(ctx, s.byID, append([]any{group}, idArgs(sel)...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[found])
}

func collectSeqs(rows pgx.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
