package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
)

func slotChangeChecks() []Check {
	return unless(noSlotChange,
		Check{Name: "O2_ChangeOfSlotsLosesNothing", run: changeOfSlotsLosesNothing},
		Check{Name: "O5_ChangeOfSlotsWaitsForEverySlot", run: changeWaitsForEverySlot},
	)
}

func noSlotChange(f Features) bool { return f.NoSlots || f.FixedSlots }

// changeOfSlotsLosesNothing changes the number of slots again and again while a storm
// and others write. Nothing fails, so each committed record is read exactly once, in the
// order of its key.
func changeOfSlotsLosesNothing(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, keyed("late", "late")...)
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	done := writers.start(ctx, 6)
	f := tr.fleet(2)
	want := []string{"late"}
	f.meanwhile = func() error {
		key := fmt.Sprintf("changing%d", len(want)%8)
		name := fmt.Sprintf("%s at %d", key, len(want))
		want = append(want, name)
		return tr.commit(ctx, keyed(key, name)...)
	}
	for i, slots := range []int{2, 3, 1, 4} {
		if err := f.change(ctx, slots); err != nil {
			return fmt.Errorf("change to %d slots: %w", slots, err)
		}
		if i == 1 {
			if err := commitLate(ctx); err != nil {
				return err
			}
		}
	}
	if err := f.follow(ctx, done); err != nil {
		return err
	}
	if err := writers.err(); err != nil {
		return err
	}
	return tr.verify(f.got, append(writers.names(), want...))
}

// changeWaitsForEverySlot changes two slots to one while the second has read the first
// record of a key and not settled it. The second record of the key is committed when the
// first slot has come to its end.
func changeWaitsForEverySlot(ctx context.Context, tr *trial) error {
	_, readers, err := tr.slots(ctx, GroupConfig{Slots: 2})
	if err != nil {
		return err
	}
	keys, err := tr.keysOfSlots(ctx, readers)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed(keys[1], "first")...); err != nil {
		return err
	}
	if err := readers[0].expectDrain(ctx, 10); err != nil {
		return err
	}
	unsent, err := readers[1].expectPage(ctx, 10, "first")
	if err != nil {
		return err
	}
	src, err := tr.closeSlot(ctx, readers[0])
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed(keys[1], "second")...); err != nil {
		return err
	}
	if err := expectNoOvertaking(ctx, src); err != nil {
		return err
	}
	if err := readers[1].settle(ctx, unsent, 1); err != nil {
		return err
	}
	f := tr.fleet(1)
	f.readers[1] = readers[1]
	if err := f.change(ctx, 1); err != nil {
		return err
	}
	if _, err := f.round(ctx); err != nil {
		return err
	}
	return expect(f.got, "second")
}

// closeSlot asks for one slot until r is closed, and releases it. It returns the source
// that wants one slot.
func (tr *trial) closeSlot(ctx context.Context, r *reader) (driver.Sharded, error) {
	src, err := tr.group(GroupConfig{Slots: 1})
	if err != nil {
		return nil, err
	}
	wants, ok := src.(driver.Sharded)
	if !ok {
		return nil, errNoSharded
	}
	for {
		if _, err := wants.Share(ctx, changeTTL); err != nil {
			return nil, fmt.Errorf("share: %w", err)
		}
		p, err := r.page(ctx, 10)
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			return wants, r.Release(ctx)
		case err != nil:
			return nil, err
		case len(p.Records) > 0:
			return nil, fmt.Errorf("read: %s in a slot that has nothing", describe(p.Records))
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("the slots do not change: %w", err)
		}
	}
}

// expectNoOvertaking expects that nobody reads on while a slot has not come to its end.
func expectNoOvertaking(ctx context.Context, src driver.Source) error {
	r, err := acquireFrom(ctx, src)
	if errors.Is(err, driver.ErrLeaseHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := r.page(ctx, 10)
	if err != nil && !errors.Is(err, driver.ErrSlotClosed) {
		return err
	}
	if len(p.Records) > 0 {
		return fmt.Errorf("read: %s while an earlier record of the key is not settled", describe(p.Records))
	}
	return r.Release(ctx)
}
