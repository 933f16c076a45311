package outboxtest

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
)

// keysAreBytes parks one of several keys that a collation could take for the same. Records
// of the others that are to wait have nothing to wait for.
func keysAreBytes(ctx context.Context, tr *trial) error {
	others := likeK()
	if err := tr.commit(ctx, keyed("k", "parked")...); err != nil {
		return err
	}
	fates := map[string]driver.Holding{"parked": {Fate: driver.FatePark}}
	for _, key := range others {
		if err := tr.commit(ctx, keyed(key, "of "+key)...); err != nil {
			return err
		}
		fates["of "+key] = driver.Holding{Fate: driver.FateWait}
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	names, keys := []string{"parked"}, []driver.Key{testKey("k")}
	for _, key := range others {
		names, keys = append(names, "of "+key), append(keys, testKey(key))
	}
	if err := s.hold(ctx, fates, names...); err != nil {
		return err
	}
	due, err := s.expectDue(ctx, names[1:]...)
	if err != nil {
		return fmt.Errorf("keys that are not the parked one: %w", err)
	}
	delivered := make([]driver.Verdict, len(due))
	for i := range delivered {
		delivered[i].Fate = driver.FateDelivered
	}
	if err := s.resolve(ctx, due, delivered, keys[1:]...); err != nil {
		return err
	}
	return s.expectHeld(ctx, keys[0])
}
