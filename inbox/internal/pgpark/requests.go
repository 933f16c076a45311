package pgpark

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
)

// Redrive makes parked messages due.
func (s *Store) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	return s.change(ctx, req.By, req.Selection, false, func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, s.sql["parked_redrive"], row.no, req.Actor, req.Reason)
		return tag.RowsAffected(), err
	})
}

// Drop drops parked messages.
func (s *Store) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	return s.change(ctx, req.By, req.Selection, true, s.dropping("drop", req.By))
}

// SkipHead drops the first message of a key.
func (s *Store) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return s.change(ctx, req.By, admin.Selection{Topic: req.Topic, Key: req.Key}, false, s.dropping("skip_head", req.By))
}

func (s *Store) dropping(action string, by admin.By) changeFunc {
	return func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, s.sql["parked_drop"], row.no, by.Actor, by.Reason, action)
		return tag.RowsAffected(), err
	}
}
