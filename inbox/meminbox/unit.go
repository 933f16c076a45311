package meminbox

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/txctx"
)

// unit is a Tx in the hands of the engine.
type unit struct {
	store  *Store
	row    row
	tx     *Tx
	joined Joined // nil for none
}

var _ inbox.Unit = (*unit)(nil)

// Context implements inbox.Unit.
func (u *unit) Context(ctx context.Context) context.Context {
	ctx = txctx.With(ctx, u.tx)
	if u.joined != nil {
		ctx = u.joined.Context(ctx)
	}
	return context.WithValue(ctx, txKey{}, u.tx)
}

// Commit implements inbox.Unit.
func (u *unit) Commit(ctx context.Context) error {
	if u.joined != nil {
		if err := u.joined.Commit(ctx); err != nil {
			u.store.release(u.row)
			return fmt.Errorf("%w: joined transaction: %w", inbox.ErrNotCommitted, err)
		}
	}
	u.store.commit(u.row, u.tx.all())
	return nil
}

// Rollback implements inbox.Unit.
func (u *unit) Rollback(ctx context.Context) error {
	u.store.release(u.row)
	if u.joined != nil {
		return u.joined.Rollback(ctx)
	}
	return nil
}
