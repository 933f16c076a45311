package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

func statsCount(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("n", "j")...); err != nil {
		return err
	}
	stats, g, err := s.statsWithAges(ctx)
	if err != nil {
		return err
	}
	if g.Held != 6 || g.Retrying != 1 || g.Parked != 3 || g.Dead != 1 {
		return fmt.Errorf("stats: %+v, want 6 held, 1 of them retried and 3 parked, 1 dead", g)
	}
	if len(g.Slots) != 1 {
		return fmt.Errorf("stats: %d slots, want 1", len(g.Slots))
	}
	slot := g.Slots[0]
	if slot.Owner == "" || slot.Epoch != s.Epoch() || slot.LeaseLeft <= 0 || slot.Problem != "" || slot.Backlog != 2 {
		return fmt.Errorf("stats: %+v, want an owner with epoch %d and 2 unsettled", slot, s.Epoch())
	}
	if stats.LastSeq < 10 {
		return fmt.Errorf("stats: last seq %d, want 10 at least", stats.LastSeq)
	}
	if _, err := s.reader.expectPage(ctx, 10, "i", "j"); err != nil {
		return fmt.Errorf("after stats: %w", err)
	}
	return nil
}

// statsWithAges returns the statistics of testGroup, once time has passed since records
// were enqueued.
func (s *setAside) statsWithAges(ctx context.Context) (admin.Stats, admin.GroupStats, error) {
	for {
		stats, err := s.op.Stats(ctx)
		if err != nil {
			return stats, admin.GroupStats{}, fmt.Errorf("stats: %w", err)
		}
		i := slices.IndexFunc(stats.Groups, func(g admin.GroupStats) bool { return g.Name == testGroup })
		if i < 0 {
			return stats, admin.GroupStats{}, fmt.Errorf("stats: group %q is missing in %+v", testGroup, stats)
		}
		g := stats.Groups[i]
		if g.OldestRetried > 0 && len(g.Slots) > 0 && g.Slots[0].Lag > 0 {
			return stats, g, nil
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return stats, g, fmt.Errorf("stats: %+v, want ages above 0: %w", g, err)
		}
	}
}
