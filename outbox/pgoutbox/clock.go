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
	now, err = s.ob.now(ctx)
	return now, unusable(err)
}

// now returns the database's clock.
func (o *Outbox) now(ctx context.Context) (now time.Time, err error) {
	err = o.pool.QueryRow(ctx, "SELECT clock_timestamp() WHERE "+pgerr.Primary).Scan(&now)
	return now.In(time.UTC), describe(err)
}
