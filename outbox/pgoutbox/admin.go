package pgoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

// Admin returns the operators' view of the outbox. Relays of this process see a change at once,
// others within a poll.
//
// Reading needs SELECT on the tables of the outbox, on its sequence and on the status view. Stats
// is one statement with bounded work, however long the log is: a few index probes per slot, and
// up to 10,000 rows each of a group's held, failed and dead records, and of delayed messages.
// Search reads the log by its primary key and costs as much as the rows that its Scan permits.
// Trace finds a message by the time in its id, if that is a UUID of version 7. Members leaves out
// standbys of a group with a fixed single slot.
func (o *Outbox) Admin() interface {
	admin.Manager
	admin.RangeLister
} {
	return operator{o}
}

// operator is the operators' view of the outbox.
type operator struct{ *Outbox }

// Redrive implements admin.Outbox.
func (o operator) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := o.held.Redrive(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Drop implements admin.Outbox.
func (o operator) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := o.held.Drop(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// SkipHead implements admin.Outbox.
func (o operator) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	changed, err := o.held.SkipHead(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Held implements admin.Outbox.
func (o operator) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Held(ctx, o.pool, q)
	return found, describe(err)
}

// Dead implements admin.Outbox.
func (o operator) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Dead(ctx, o.pool, q)
	return found, describe(err)
}

// ParkedKeys implements admin.Outbox.
func (o operator) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	found, err := o.held.ParkedKeys(ctx, o.pool, q)
	return found, describe(err)
}

// Failures implements admin.Outbox.
func (o operator) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	found, err := o.held.Failures(ctx, o.pool, q)
	return found, describe(err)
}

// Audit implements admin.Outbox.
func (o operator) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	found, err := o.held.Audit(ctx, o.pool, q)
	return found, describe(err)
}
