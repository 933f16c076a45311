package pgoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

var _ driver.Holder = (*session)(nil)

// shardFilter says which shards are this session's: those that are slot modulo
// slots.
func (n *session) shardFilter() (slots, slot int) {
	return n.slots, int(n.lease.Slot.No)
}

func (n *session) share() pgheld.Share {
	slots, slot := n.shardFilter()
	return pgheld.Share{Slots: int16(slots), Slot: int16(slot)} //nolint:gosec // at most 64
}

// HeldKeys implements driver.Holder.
func (n *session) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	n.reading.Lock()
	defer n.reading.Unlock()
	keys, err := n.source.ob.held.Keys(ctx, n.reader, n.lease.Slot.Group, n.share())
	return keys, unusable(describe(err))
}

// CountHeld implements driver.Holder.
func (n *session) CountHeld(ctx context.Context) (int, error) {
	n.reading.Lock()
	defer n.reading.Unlock()
	count, err := n.source.ob.held.Count(ctx, n.reader, n.lease.Slot.Group, n.share())
	return count, unusable(describe(err))
}

// Hold implements driver.Holder. What is settled is noted only once it is stored:
// a position that was stored without its records would lose them.
func (n *session) Hold(ctx context.Context, p driver.Page, settled int, h []driver.Holding) error {
	at, last, err := endOf(p, settled)
	if err != nil {
		return err
	}
	n.writing.Lock()
	defer n.writing.Unlock()
	if n.isSettled(at, last) {
		return nil
	}
	to := n.source.ob.window.Move(n.lease, at.window, last)
	err = n.source.ob.held.Hold(ctx, n.writer, n.lease, to, p.Records[:settled], h)
	if err != nil {
		return unusable(describe(err))
	}
	n.settle(at, last)
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.window == n.window.No {
		n.stored = max(n.stored, last)
	}
	return nil
}

// isSettled says whether rows up to last are settled already.
func (n *session) isSettled(at cursor, last int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return at.window != n.window.No || last <= n.done
}

// Due implements driver.Holder.
func (n *session) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	n.reading.Lock()
	defer n.reading.Unlock()
	due, err := n.source.ob.held.Due(ctx, n.reader, n.lease.Slot.Group, n.share(), limit, except)
	return due, unusable(describe(err))
}

// Resolve implements driver.Holder.
func (n *session) Resolve(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
	n.writing.Lock()
	defer n.writing.Unlock()
	free, err := n.source.ob.held.Resolve(ctx, n.writer, n.lease, v)
	return free, unusable(describe(err))
}
