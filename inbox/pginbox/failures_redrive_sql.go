package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
)

// ClaimRedriven implements driver.Parker.
func (s *sqlStore) ClaimRedriven(ctx context.Context, r driver.Redriven) (driver.Unit, bool, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, false, err
	}
	unit, setting, err := s.open(ctx, conn, s.sql["redrive_claim"], r.No, r.Attempt, s.consumer)
	if err == nil && setting == asyncCommit {
		err = ErrNotDurable
	}
	if err == nil {
		return unit, true, nil
	}
	if unit != nil {
		_ = unit.rollback() // the claim's own error is the one to report
	}
	_ = conn.Close() // likewise
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return nil, false, explain(err)
}
