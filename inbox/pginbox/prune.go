package pginbox

import (
	"context"
	"time"
)

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
