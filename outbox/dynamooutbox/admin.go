package dynamooutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ admin.Outbox = (*Outbox)(nil)

// heldStore lets operators' requests take turns with relays.
type heldStore struct{ ob *Outbox }

var _ heldqueue.Store = heldStore{}

// Change implements heldqueue.Store.
func (s heldStore) Change(ctx context.Context, group string, work func(tx heldqueue.Tx) error) error {
	c := heldCache{group: group}
	return c.change(ctx, s.ob, nil, nil, work)
}

// Look implements heldqueue.Store.
func (s heldStore) Look(ctx context.Context, group string, work func(r heldqueue.Reader) error) error {
	c := heldCache{group: group}
	if err := c.refresh(ctx, s.ob); err != nil {
		return err
	}
	return work(c.tx(s.ob))
}

// Redrive implements admin.Outbox. More than some ninety records are redriven in several
// transactions.
func (o *Outbox) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return heldqueue.Redrive(ctx, heldStore{o}, req)
}

// Drop implements admin.Outbox. More than some ninety records are dropped in several
// transactions, of a key the last first.
func (o *Outbox) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return heldqueue.Drop(ctx, heldStore{o}, req)
}

// SkipHead implements admin.Outbox.
func (o *Outbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return heldqueue.SkipHead(ctx, heldStore{o}, req)
}

// Held implements admin.Outbox.
func (o *Outbox) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListHeld(ctx, heldStore{o}, q)
}

// Dead implements admin.Outbox.
func (o *Outbox) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListDead(ctx, heldStore{o}, q)
}

// ParkedKeys implements admin.Outbox.
func (o *Outbox) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	return heldqueue.ParkedKeys(ctx, heldStore{o}, q)
}

// Failures implements admin.Outbox.
func (o *Outbox) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	return heldqueue.Failures(ctx, heldStore{o}, q)
}
