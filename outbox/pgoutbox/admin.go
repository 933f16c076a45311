package pgoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

var (
	_ admin.GroupManager = (*Outbox)(nil)
	_ admin.Pauser       = (*Outbox)(nil)
	_ admin.Scheduler    = (*Outbox)(nil)
	_ admin.Searcher     = (*Outbox)(nil)
	_ admin.RangeLister  = (*Outbox)(nil)
)

// Redrive implements admin.Outbox. Relays of this process see the change at once, others
// within a poll.
func (o *Outbox) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := o.held.Redrive(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Drop implements admin.Outbox.
func (o *Outbox) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := o.held.Drop(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// SkipHead implements admin.Outbox.
func (o *Outbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	changed, err := o.held.SkipHead(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Held implements admin.Outbox.
func (o *Outbox) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Held(ctx, o.pool, q)
	return found, describe(err)
}

// Dead implements admin.Outbox.
func (o *Outbox) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Dead(ctx, o.pool, q)
	return found, describe(err)
}

// ParkedKeys implements admin.Outbox.
func (o *Outbox) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	found, err := o.held.ParkedKeys(ctx, o.pool, q)
	return found, describe(err)
}

// Failures implements admin.Outbox.
func (o *Outbox) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	found, err := o.held.Failures(ctx, o.pool, q)
	return found, describe(err)
}

// Audit implements admin.Outbox.
func (o *Outbox) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	found, err := o.held.Audit(ctx, o.pool, q)
	return found, describe(err)
}
