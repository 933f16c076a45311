package pgoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

// Redrive lets the relay try parked records again, from now on. Their ids stay, so
// that inboxes recognise those that had arrived after all; their attempts begin at
// 0, their errors are kept.
//
// A parked key is redriven as a whole, whichever of its records is named: its first
// record is due, and the others follow in order. Dead records are held again and
// tried, but their key has gone on meanwhile: they come after what has passed since,
// and, where records of the key are held, before those with a higher Seq.
//
// Errors: admin.ErrInvalidRequest, admin.ErrNotParked, admin.ErrBeingRetried, or the database's. A
// filter that matches nothing is no error. Relays see the change at their next
// look, within a poll.
func (o *Outbox) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	changed, err := o.held.Redrive(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Drop drops parked or dead records for good: they are never sent. The audit keeps
// their ids and errors, nothing keeps their payloads.
//
// A key is dropped with all that waits behind its parked record. By ID, one record
// is dropped; where it was the first of its key, the next one is due. By a filter, the
// parked records that match are dropped, and those behind them are due.
//
// Errors: admin.ErrInvalidRequest, admin.ErrNotParked, admin.ErrBeingRetried, or the database's. A
// filter that matches nothing is no error.
func (o *Outbox) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	changed, err := o.held.Drop(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// SkipHead drops the first record of a parked key; the next one is due, and the
// others follow it in order. Errors: admin.ErrInvalidRequest; admin.ErrNotParked where nothing of
// the key is held; admin.ErrBeingRetried where its first record is not parked; or the
// database's.
func (o *Outbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	changed, err := o.held.SkipHead(ctx, o.pool, req)
	o.bell.ring()
	return changed, describe(err)
}

// Parked returns parked records and those that wait behind them, ascending in Seq.
func (o *Outbox) Parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Parked(ctx, o.pool, q)
	return found, describe(err)
}

// Dead returns dead records, ascending in Seq.
func (o *Outbox) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	found, err := o.held.Dead(ctx, o.pool, q)
	return found, describe(err)
}

// Audit returns entries of the audit, the oldest first.
func (o *Outbox) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	found, err := o.held.Audit(ctx, o.pool, q)
	return found, describe(err)
}
