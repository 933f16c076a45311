package outboxtest

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

// Admin is implemented by a Subject whose sessions are driver.Holders: what an operator
// sees of the records that relays have set aside, and does with them. The methods are the
// outbox's own.
type Admin interface {
	// Redrive makes parked or dead records due again. Of a parked key the first record is
	// due, and those behind it follow. Attempts start at 0; errors are kept.
	Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error)

	// Drop drops records; a key with all that waits behind its parked record.
	Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error)

	// SkipHead drops the first record of a parked key; the next one is due.
	SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error)

	// Parked returns records that are parked, and those that wait behind a parked one of
	// their key, ascending in Seq.
	Parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)

	// Dead returns records that were given up, ascending in Seq.
	Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)

	// Audit returns what relays and operators did, the oldest first.
	Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error)
}
