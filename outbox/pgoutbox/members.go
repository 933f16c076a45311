package pgoutbox

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

var _ driver.Sharded = (*source)(nil)

// Share implements driver.Sharded. It also requests another number of slots if SourceConfig.Slots
// is not that of the group, once all live relays of the group agree and have had ttl to announce
// it. A group with a fixed single slot costs its leader one read per call and no write, and each
// standby one row, which makes it visible. With several slots it asks to be called often: between
// two writes it only looks for relays whose sessions are gone.
func (s *source) Share(ctx context.Context, ttl time.Duration) (driver.Share, error) {
	s.sharing.mu.Lock()
	defer s.sharing.mu.Unlock()
	if share := s.sharing.share; share.Slots > 1 && time.Since(s.sharing.asked) < ttl/3 {
		look, err := s.ob.chain.Look(ctx, s.ob.pool, s.cfg.Group, pglease.Former{})
		if err == nil && look.Gone {
			err = s.bury(ctx)
		}
		if err != nil {
			return driver.Share{}, unusable(describe(err))
		}
		if look.Slots == share.Slots && look.Members == s.sharing.members && !look.Changing && !look.Gone {
			return share, nil
		}
	}
	asked := time.Now()
	share, members, err := s.askShare(ctx, ttl)
	if err == nil {
		s.sharing.share, s.sharing.members, s.sharing.asked = share, members, asked
	}
	return share, err
}

// sharing is the source's knowledge of its share.
type sharing struct {
	mu      sync.Mutex
	share   driver.Share
	members int
	asked   time.Time
}

// askShare announces this relay to the others, and returns how many there are.
func (s *source) askShare(ctx context.Context, ttl time.Duration) (share driver.Share, members int, err error) {
	var slots int
	err = s.ob.pool.QueryRow(ctx, s.sql.share, s.cfg.Group, s.claimant.Name(), s.cfg.Slots, ttl.Microseconds()).Scan(&slots, &members)
	if err != nil {
		return share, 0, unusable(describe(err))
	}
	share = driver.Share{Slots: slots, Fair: (slots + members - 1) / members}
	if slots > 1 {
		share.Retry = pglease.Retry
	}
	return share, members, nil
}

var _ driver.PolicyKeeper = (*source)(nil)

// KeepPolicies implements driver.PolicyKeeper.
func (s *source) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	kept, err := s.ob.leases.KeepPolicies(ctx, s.ob.pool, s.cfg.Group, change)
	return kept, unusable(describe(err))
}

// Leave implements driver.Sharded.
func (s *source) Leave(ctx context.Context) error {
	_, err := s.ob.pool.Exec(ctx, s.sql.leave, s.cfg.Group, s.claimant.Name())
	return unusable(describe(err))
}
