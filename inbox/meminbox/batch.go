package meminbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/txctx"
)

var _ inbox.BatchStore = claims{}

// ClaimBatch implements inbox.BatchStore.
func (c claims) ClaimBatch(ctx context.Context, items []inbox.BatchItem) (inbox.Unit, []inbox.Status, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	u := &batchUnit{store: c.store, tx: &Tx{}}
	statuses := make([]inbox.Status, len(items))
	for i, item := range items {
		r := newRow(c.consumer, item.ID)
		if statuses[i] = c.store.claim(r); statuses[i] == inbox.Claimed {
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

// batchUnit is a Tx that has claimed several messages.
type batchUnit struct {
	store  *Store
	rows   []row
	tx     *Tx
	joined Joined // nil for none
}

var _ inbox.Unit = (*batchUnit)(nil)

// Context implements inbox.Unit.
func (u *batchUnit) Context(ctx context.Context) context.Context {
	ctx = txctx.With(ctx, u.tx)
	if u.joined != nil {
		ctx = u.joined.Context(ctx)
	}
	return context.WithValue(ctx, txKey{}, u.tx)
}

// Commit implements inbox.Unit.
func (u *batchUnit) Commit(ctx context.Context) error {
	if u.joined != nil {
		if err := u.joined.Commit(ctx); err != nil {
			u.release()
			return fmt.Errorf("%w: joined transaction: %w", inbox.ErrNotCommitted, err)
		}
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	for _, effect := range u.tx.all() {
		effect()
	}
	for _, r := range u.rows {
		u.store.rows[r] = true
	}
	return nil
}

// Rollback implements inbox.Unit.
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
