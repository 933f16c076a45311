package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// slotsAreShared divides five slots among sources that come, leave and die.
func slotsAreShared(ctx context.Context, tr *trial) error {
	var sources []driver.Sharded
	for range 3 {
		src, err := tr.group(GroupConfig{Slots: 5})
		if err != nil {
			return err
		}
		sharded, ok := src.(driver.Sharded)
		if !ok {
			return errNoSharded
		}
		sources = append(sources, sharded)
	}
	r, err := acquireFrom(ctx, sources[0]) // so that the group is there
	if err != nil {
		return err
	}
	for i, fair := range []int{5, 3, 2} {
		if err := expectShare(ctx, sources[i], longTTL, fair); err != nil {
			return fmt.Errorf("source %d of 3 that have come: %w", i+1, err)
		}
	}
	if err := sources[1].Leave(ctx); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	if err := expectShare(ctx, sources[0], longTTL, 3); err != nil {
		return fmt.Errorf("after one of 3 has left: %w", err)
	}
	if _, err := sources[2].Share(ctx, time.Millisecond); err != nil {
		return fmt.Errorf("share: %w", err)
	}
	for {
		err := expectShare(ctx, sources[0], longTTL, 5)
		if err == nil {
			return r.Release(ctx)
		}
		if ended := pause(ctx); ended != nil {
			return fmt.Errorf("after another has lived for a millisecond: %w", errors.Join(err, ended))
		}
	}
}

func expectShare(ctx context.Context, src driver.Sharded, ttl time.Duration, fair int) error {
	share, err := src.Share(ctx, ttl)
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	if want := (driver.Share{Slots: 5, Fair: fair}); share != want {
		return fmt.Errorf("share: %+v, want %+v", share, want)
	}
	return nil
}
