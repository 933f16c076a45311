package pgwindow

import (
	"context"
	"fmt"
)

// Contradicts returns ErrLogRestarted if the log holds rows that cannot be where they
// are if w is a window of it: its numbers began anew, without a sign that Facts knows.
func (c *Chain) Contradicts(ctx context.Context, db Querier, w Window) error {
	var found bool
	err := db.QueryRow(ctx, c.contradicts, w.Target.Text, w.NextFloor).Scan(&found)
	if err == nil && found {
		err = fmt.Errorf("%w: it holds newer rows at or below number %d", ErrLogRestarted, w.NextFloor)
	}
	return err
}

// Adopt notes that the position of group belongs to the log of facts, if nothing is
// noted. The caller has checked that nothing speaks against it.
func (c *Chain) Adopt(ctx context.Context, db Querier, group string, facts Facts) error {
	_, err := db.Exec(ctx, c.adopt, group, facts.Incarnation)
	return err
}
