package meminbox

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// unit is a driver.Unit in memory.
type unit struct {
	store  *Store
	row    row
	tx     *transaction
	joined Joined // nil for none

	redriven *parked // nil for a message that was claimed by its id
}

var _ driver.Unit = (*unit)(nil)

// Context implements driver.Unit.
func (u *unit) Context(ctx context.Context) context.Context {
	ctx = txctx.With(ctx, u.tx)
	if u.joined != nil {
		ctx = u.joined.Context(ctx)
	}
	return context.WithValue(ctx, txKey{}, u.tx)
}

// Commit implements driver.Unit.
func (u *unit) Commit(ctx context.Context) error {
	if u.joined != nil {
		if err := u.joined.Commit(ctx); err != nil {
			u.release()
			return fmt.Errorf("%w: joined transaction: %w", driver.ErrNotCommitted, err)
		}
	}
	if u.redriven != nil {
		u.store.commitRedriven(u.redriven, u.tx.all())
	} else {
		u.store.commit(u.row, u.tx.all())
	}
	return nil
}

func (u *unit) release() {
	if u.redriven != nil {
		u.store.releaseRedriven(u.redriven)
	} else {
		u.store.release(u.row)
	}
}

// Rollback implements driver.Unit.
func (u *unit) Rollback(ctx context.Context) error {
	u.release()
	if u.joined != nil {
		return u.joined.Rollback(ctx)
	}
	return nil
}
