package pginbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/inbox/admin"
)

// Parked lists the consumer's parked messages and those that wait behind them, in
// the order in which they were parked. It writes nothing, and needs SELECT on
// <table>_consumers and <table>_parked. Errors: admin.ErrInvalidRequest,
// admin.ErrUnknownConsumer, or the database's.
func (in *Inbox) Parked(ctx context.Context, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	return in.store.Parked(ctx, q)
}

// Redrive makes parked messages due for RunRedrive. A key is redriven as a whole,
// whichever of its messages is named: its first message is due, and the others
// follow, one after another, as each has taken effect; the result has the first ones.
// Ids stay, and so do the errors; attempts begin at 0.
//
// Errors: admin.ErrInvalidRequest, admin.ErrUnknownConsumer, admin.ErrNotParked,
// admin.ErrBeingRetried, or the database's, after which some of what was selected may
// have been changed. A filter that matches nothing is no error.
func (in *Inbox) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	return in.store.Redrive(ctx, req)
}

// SkipHead drops the first message of a parked key; the next one is due, and the
// others follow it in order. Errors are those of Redrive.
func (in *Inbox) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return in.store.SkipHead(ctx, req)
}

// Drop drops parked messages for good: their handler never runs. Their ids stay
// recorded, so that redeliveries are duplicates. The audit keeps their ids and
// errors, nothing keeps their payloads.
//
// A key is dropped with all that waits. By ID, or by a filter, the parked messages
// themselves are dropped; if one was the first of its key, the next one is due.
//
// Errors are those of Redrive.
func (in *Inbox) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	return in.store.Drop(ctx, req)
}

// Audit returns entries of the consumer's audit, the oldest first. It writes nothing,
// and needs SELECT on <table>_consumers and <table>_audit. Errors: admin.ErrInvalidRequest,
// admin.ErrUnknownConsumer, or the database's.
func (in *Inbox) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return in.store.Audit(ctx, q)
}

// PruneAttempts deletes up to limit rows of attempts of the consumer that were not
// touched for age: of messages that failed and never came again, and the few that
// a process left when it ended. It returns how many. Age must be longer than the
// longest pause between two deliveries of a message, whose attempts begin at 1
// again; limit is 1 to 100,000.
func (in *Inbox) PruneAttempts(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return in.store.PruneAttempts(ctx, age, limit)
}

// PruneNotes deletes up to limit fingerprints and replies that are older than age.
// A duplicate of such a message is a duplicate still; its fingerprint is not
// compared, and its reply is nil. It returns how many; limit is 1 to 100,000.
func (in *Inbox) PruneNotes(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return in.store.PruneNotes(ctx, age, limit)
}

// PruneAudit deletes up to limit rows of the consumer's audit that are older than age,
// the oldest first; MaintenanceConfig.KeepAudit does it for all consumers. It returns
// how many. Age is 24 h at least, limit is 1 to 100,000.
func (in *Inbox) PruneAudit(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return in.store.PruneAudit(ctx, age, limit)
}
