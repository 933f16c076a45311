package pgpark

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// PruneAttempts forgets attempts.
func (s *Store) PruneAttempts(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return s.prune(ctx, "attempt_prune", age, limit)
}

// PruneNotes forgets notes.
func (s *Store) PruneNotes(ctx context.Context, age time.Duration, limit int) (int64, error) {
	return s.prune(ctx, "note_prune", age, limit)
}

// LeastAudit is how long the audit is kept in any case: what operators have done today
// can be asked about tomorrow.
const LeastAudit = 24 * time.Hour

// PruneAudit forgets entries of the audit.
func (s *Store) PruneAudit(ctx context.Context, age time.Duration, limit int) (int64, error) {
	if age < LeastAudit {
		return 0, fmt.Errorf("%w: age = %s: must be at least %s", admin.ErrInvalidRequest, age, LeastAudit)
	}
	return s.prune(ctx, "audit_prune", age, limit)
}

func (s *Store) prune(ctx context.Context, statement string, age time.Duration, limit int) (int64, error) {
	if age <= 0 || limit < 1 || limit > 100_000 {
		return 0, fmt.Errorf("%w: age = %s, limit = %d: must be positive, limit at most 100000", admin.ErrInvalidRequest, age, limit)
	}
	var n int64
	err := s.look(ctx, func(conn *pgx.Conn, number int16) error {
		// Not at SERIALIZABLE: the server would end deliveries that run.
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, s.sql[statement], number, age.Microseconds(), limit)
			n = tag.RowsAffected()
			return err
		})
	})
	return n, err
}

// AuditPrune returns the statement by which all consumers' entries are forgotten.
func AuditPrune(names pgmigrate.Names) (statement string, err error) {
	err = sqlfile.Load(statements, names.Render, map[string]*string{"audit_prune": &statement})
	return statement, err
}
