package memoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// Redrive lets the relay try parked or dead records again, from now on, with the same ids;
// their attempts begin at 0, their errors are kept. A parked key is redriven as a whole,
// whichever of its records is named: its first record is due, and the others follow in
// order. A dead record comes after what its key has sent since.
//
// Errors: admin.ErrInvalidRequest, admin.ErrNotParked, admin.ErrBeingRetried, or that of
// ctx. A filter that matches nothing is no error. Relays see the change at their next look,
// within a poll.
func (ob *Outbox) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	return heldqueue.Redrive(ctx, heldStore{ob}, req)
}

// Drop drops parked or dead records for good: they are never sent. A key is dropped with
// all that waits behind its parked record. By ID, one record is dropped; if it was the
// first of its key, the next one is due. By a filter, the parked records that match are
// dropped, and those behind them are due. Errors as of Redrive.
func (ob *Outbox) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	return heldqueue.Drop(ctx, heldStore{ob}, req)
}

// SkipHead drops the first record of a parked key; the next one is due, and the others
// follow it in order. Errors: admin.ErrInvalidRequest; admin.ErrNotParked if nothing of the
// key is held; admin.ErrBeingRetried if its first record is not parked; or that of ctx.
func (ob *Outbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return heldqueue.SkipHead(ctx, heldStore{ob}, req)
}

// Parked returns parked records and those that wait behind them, ascending in Seq.
func (ob *Outbox) Parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListParked(ctx, heldStore{ob}, q)
}

// Dead returns dead records, ascending in Seq.
func (ob *Outbox) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return heldqueue.ListDead(ctx, heldStore{ob}, q)
}

// Audit returns entries of the audit, the oldest first.
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
