package outboxtest

import (
	"context"
	"errors"
	"fmt"
)

func wakeChecks() []Check {
	return []Check{{
		Name: "Wake_ReachesEverySubscriber", run: wakeReachesEverySubscriber,
		skip: func(f Features) bool { return f.NoWakes },
	}}
}

// wakeReachesEverySubscriber also rings more often than anybody listens, which
// must not block.
func wakeReachesEverySubscriber(ctx context.Context, tr *trial) error {
	src := tr.Source(testGroup)
	ended, cancel := context.WithCancel(ctx)
	subscriptions := []<-chan struct{}{src.Wakes(ctx), src.Wakes(ctx), tr.Source(testGroup).Wakes(ctx), src.Wakes(ended)}
	cancel()
	for round := range 3 {
		if err := tr.commit(ctx, named(fmt.Sprintf("m-%d", round))...); err != nil {
			return err
		}
		for range 100 {
			tr.Wake()
		}
		for i, wakes := range subscriptions[:3] {
			if wakes == nil {
				return errors.New("source: Wakes returned nil")
			}
			select {
			case <-wakes:
			case <-ctx.Done():
				return fmt.Errorf("round %d: subscription %d was not woken: %w", round, i, ctx.Err())
			}
			select { // one may have been on its way while the first was taken
			case <-wakes:
			default:
			}
		}
	}
	return nil
}
