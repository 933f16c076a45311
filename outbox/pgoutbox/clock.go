package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Clocked = (*source)(nil)

// Now implements driver.Clocked.
func (s *source) Now(ctx context.Context) (now time.Time, err error) {
	err = s.ob.pool.QueryRow(ctx, "SELECT clock_timestamp() WHERE "+pgerr.Primary).Scan(&now)
	return now.In(time.UTC), unusable(describe(err))
}
