package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
)

// Redrive makes parked messages due for RunRedrive. A key is redriven as a whole,
// whichever of its messages is named: its first message is due, and the others
// follow, one after another, as each has taken effect; admin.Changed has the first ones.
// Ids stay, and so do the errors; attempts begin at 0.
//
// Errors: admin.ErrInvalidRequest, admin.ErrUnknownConsumer, admin.ErrNotParked, admin.ErrBeingRetried, or the
// database's, after which some of what was selected may have been changed. A filter that
// matches nothing is no error.
func (in *Inbox) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	return in.store.change(ctx, req.By, req.Selection, false, func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, in.store.sql["parked_redrive"], row.no, req.Actor, req.Reason)
		return tag.RowsAffected(), err
	})
}

// Drop drops parked messages for good: their handler never runs. Their ids stay
// recorded, so that redeliveries are duplicates. The audit keeps their ids and
// errors, nothing keeps their payloads.
//
// A key is dropped with all that waits. admin.By ID, or by a filter, the parked messages
// themselves are dropped; where one was the first of its key, the next one is due.
//
// Errors are those of Redrive.
func (in *Inbox) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	return in.store.change(ctx, req.By, req.Selection, true, in.store.dropping("drop", req.By))
}

// SkipHead drops the first message of a parked key; the next one is due, and the
// others follow it in order. Errors are those of Redrive.
func (in *Inbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	sel := admin.Selection{Topic: req.Topic, Key: req.Key}
	return in.store.change(ctx, req.By, sel, false, in.store.dropping("skip_head", req.By))
}

func (f *failures) dropping(action string, by admin.By) changeFunc {
	return func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, f.sql["parked_drop"], row.no, by.Actor, by.Reason, action)
		return tag.RowsAffected(), err
	}
}
