package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Sharded = (*source)(nil)

// Share implements driver.Sharded. It also asks for another number of slots where
// SourceConfig.Slots is not that of the group, once all relays of the group that
// live agree and have had ttl to say so. A group with one slot that is to keep it
// costs its leader one read a call and no write, and each standby a row, so that it is seen.
func (s *source) Share(ctx context.Context, ttl time.Duration) (driver.Share, error) {
	var slots, members int
	err := s.ob.pool.QueryRow(ctx, s.sql.share, s.cfg.Group, s.claimant.Name(), s.cfg.Slots, ttl.Microseconds()).Scan(&slots, &members)
	if err != nil {
		return driver.Share{}, unusable(describe(err))
	}
	return driver.Share{Slots: slots, Fair: (slots + members - 1) / members}, nil
}

// Leave implements driver.Sharded.
func (s *source) Leave(ctx context.Context) error {
	_, err := s.ob.pool.Exec(ctx, s.sql.leave, s.cfg.Group, s.claimant.Name())
	return unusable(describe(err))
}
