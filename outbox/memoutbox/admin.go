package memoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// Redrive implements admin.Outbox.
func (ob *Outbox) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return heldqueue.Redrive(ctx, heldStore{ob}, req)
}

// Drop implements admin.Outbox.
func (ob *Outbox) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return heldqueue.Drop(ctx, heldStore{ob}, req)
}

// SkipHead implements admin.Outbox.
func (ob *Outbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return heldqueue.SkipHead(ctx, heldStore{ob}, req)
}

// Held implements admin.Outbox.
func (ob *Outbox) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListHeld(ctx, heldStore{ob}, q)
}

// ParkedKeys implements admin.Outbox.
func (ob *Outbox) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	return heldqueue.ParkedKeys(ctx, heldStore{ob}, q)
}

// Failures implements admin.Outbox.
func (ob *Outbox) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	return heldqueue.Failures(ctx, heldStore{ob}, q)
}

// Dead implements admin.Outbox.
func (ob *Outbox) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListDead(ctx, heldStore{ob}, q)
}

// Audit implements admin.Outbox.
func (ob *Outbox) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	return ob.audit.List(q)
}

// heldStore lets operators' requests take turns with relays.
type heldStore struct{ ob *Outbox }

var _ heldqueue.Store = heldStore{}

// Change implements heldqueue.Store.
func (s heldStore) Change(ctx context.Context, group string, work func(tx heldqueue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	return work(s.ob.heldOf(group))
}

// Look implements heldqueue.Store.
func (s heldStore) Look(ctx context.Context, group string, work func(r heldqueue.Reader) error) error {
	return s.Change(ctx, group, func(tx heldqueue.Tx) error { return work(tx) })
}
