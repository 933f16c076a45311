package pglease

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// KeepPolicies implements the method of driver.PolicyKeeper, for a group.
func (s *Statements) KeepPolicies(ctx context.Context, db Querier, group string, change func(note string, now time.Time) string) (kept bool, err error) {
	for {
		var note string
		var now time.Time
		err := db.QueryRow(ctx, s.policies, group).Scan(&note, &now)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		next := change(note, now)
		if next == note {
			return true, nil
		}
		tag, err := db.Exec(ctx, s.policiesKeep, group, note, next)
		if err != nil || tag.RowsAffected() > 0 {
			return err == nil, err
		}
	}
}
