package pginbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
)

// PruneAttempts deletes up to limit rows of attempts of the consumer that were not
// touched for age: of messages that failed and never came again, and the few that
// a process left when it ended. It returns how many. Age must be longer than the
// longest pause between two deliveries of a message, whose attempts begin at 1
// again; limit is 1 to 100,000.
func (in *Inbox) PruneAttempts(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return in.store.prune(ctx, "attempt_prune", age, limit)
}

// PruneNotes deletes up to limit fingerprints and replies that are older than age.
// A duplicate of such a message is a duplicate still; its fingerprint is not
// compared, and its reply is nil. It returns how many; limit is 1 to 100,000.
func (in *Inbox) PruneNotes(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return in.store.prune(ctx, "note_prune", age, limit)
}

// leastAudit is how long the audit is kept in any case: what people have done today
// can be asked about tomorrow.
const leastAudit = 24 * time.Hour

// PruneAudit deletes up to limit rows of the consumer's audit that are older than age,
// the oldest first; MaintenanceConfig.KeepAudit does it for all consumers. It returns
// how many. Age is 24 h at least, limit is 1 to 100,000.
func (in *Inbox) PruneAudit(ctx context.Context, age time.Duration, limit int) (int64, error) {
	if age < leastAudit {
		return 0, fmt.Errorf("%w: age = %s: must be at least %s", admin.ErrInvalidRequest, age, leastAudit)
	}
	return in.store.prune(ctx, "audit_prune", age, limit)
}

func (f *failures) prune(ctx context.Context, statement string, age time.Duration, limit int) (int64, error) {
	if age <= 0 || limit < 1 || limit > 100_000 {
		return 0, fmt.Errorf("%w: age = %s, limit = %d: must be positive, limit at most 100000", admin.ErrInvalidRequest, age, limit)
	}
	var n int64
	err := f.look(ctx, func(conn *pgx.Conn, number int16) error {
		tag, err := conn.Exec(ctx, f.sql[statement], number, age.Microseconds(), limit)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
