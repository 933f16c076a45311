package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// shareEvery is how often the share is requested: every third of a lease, or more often if the
// source asks for it.
func (l *slotLeader) shareEvery() time.Duration {
	every := l.relay.cfg.Lease / 3
	if l.share.Retry > 0 && len(l.slots) >= l.share.Fair {
		every = min(every, l.share.Retry)
	}
	return every
}

// refreshShare registers this relay as alive and requests its share, if it is time. After an
// error the share stays the same.
func (l *slotLeader) refreshShare(ctx context.Context) error {
	r := l.relay
	if l.sharded == nil || !l.shared.IsZero() && time.Since(l.shared) < l.shareEvery() {
		return nil
	}
	asked := time.Now()
	l.joined = true
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Lease/3)
	defer cancel()
	share, err := l.sharded.Share(bounded, r.cfg.Lease)
	if err != nil {
		if ctx.Err() == nil {
			r.onFault(ctx, "share", err)
		}
		return err
	}
	l.shared, l.share = asked, share
	if r.cfg.TotalOrder && share.Slots != 1 {
		return fmt.Errorf("%w: %w: a total order needs a source with one slot, and this one has %d", driver.ErrSourceUnusable, outbox.ErrInvalidConfig, share.Slots)
	}
	return nil
}

// untilShare returns d, or less if the fair share must be requested sooner.
func (l *slotLeader) untilShare(d time.Duration) time.Duration {
	if l.sharded == nil {
		return d
	}
	return min(d, max(l.shareEvery()-time.Since(l.shared), 0))
}

// releaseSurplus ends the youngest terms that exceed the fair share.
func (l *slotLeader) releaseSurplus() {
	staying := 0
	for _, slot := range l.slots {
		if !slot.releasing {
			staying++
		}
	}
	for i := len(l.slots) - 1; i >= 0 && staying > l.share.Fair; i-- {
		if slot := l.slots[i]; !slot.releasing {
			slot.releasing = true
			slot.cancel()
			staying--
		}
	}
}

// leave unregisters this relay, if it was ever registered.
func (l *slotLeader) leave(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.relay.cfg.DrainTimeout/4)
	defer cancel()
	l.relay.leavePolicies(bounded)
	if !l.joined {
		return
	}
	if err := l.sharded.Leave(bounded); err != nil {
		l.relay.onFault(bounded, "leave", err)
	}
}
