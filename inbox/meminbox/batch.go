package meminbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

var _ driver.BatchStore = claims{}

// ClaimBatch implements driver.BatchStore.
func (c claims) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	u := &batchUnit{store: c.store, tx: &transaction{}}
	statuses := make([]driver.Status, len(items))
	for i, item := range items {
		r := newRow(c.consumer, item.ID)
		if statuses[i] = c.store.claim(r); statuses[i] == driver.Claimed {
			u.rows = append(u.rows, r)
		}
	}
	if len(u.rows) == 0 {
		return nil, statuses, nil
	}
	if c.join == nil {
		return u, statuses, nil
	}
	joined, err := c.join(ctx)
	if err == nil && joined == nil {
		err = errors.New("leat: Config.Join returned no transaction")
	}
	if err != nil {
		u.release()
		return nil, nil, err
	}
	u.joined = joined
	return u, statuses, nil
}

// batchUnit is a transaction that has claimed several messages.
type batchUnit struct {
	store  *Store
	rows   []row
	tx     *transaction
	joined Joined // nil for none
}

var _ driver.Unit = (*batchUnit)(nil)

// Context implements driver.Unit.
func (u *batchUnit) Context(ctx context.Context) context.Context {
	ctx = txctx.With(ctx, u.tx)
	if u.joined != nil {
		ctx = u.joined.Context(ctx)
	}
	return context.WithValue(ctx, txKey{}, u.tx)
}

// Commit implements driver.Unit.
func (u *batchUnit) Commit(ctx context.Context) error {
	if u.joined != nil {
		if err := u.joined.Commit(ctx); err != nil {
			u.release()
			return fmt.Errorf("%w: joined transaction: %w", driver.ErrNotCommitted, err)
		}
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	for _, effect := range u.tx.all() {
		effect()
	}
	for _, r := range u.rows {
		u.store.record(r)
	}
	return nil
}

// Rollback implements driver.Unit.
func (u *batchUnit) Rollback(ctx context.Context) error {
	u.release()
	if u.joined != nil {
		return u.joined.Rollback(ctx)
	}
	return nil
}

func (u *batchUnit) release() {
	for _, r := range u.rows {
		u.store.release(r)
	}
}
