package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// manyKeys are so many that no slot has all of them.
const manyKeys = 32

func slotChecks() []Check {
	return unless(func(f Features) bool { return f.NoSlots },
		Check{Name: "O5_KeyInOneSlot", run: keyInOneSlot},
		Check{Name: "O9_OneHolderASlot", run: oneHolderASlot},
		Check{Name: "O12_SlotsKeepTheirOwnPositions", run: slotsKeepTheirOwnPositions},
		Check{Name: "O2_SlotsUnderConcurrentWriters", run: slotsUnderConcurrentWriters},
		Check{Name: "O14_SlotsAreShared", run: slotsAreShared},
	)
}

// keyInOneSlot reads many keys through four slots, in three sessions of each: every
// record is read once, and every key in one slot.
func keyInOneSlot(ctx context.Context, tr *trial) error {
	const slots = 4
	var got []outbox.Record
	var want []string
	home := make(map[string]int)
	for round := range 3 {
		for k := range manyKeys {
			name := fmt.Sprintf("key%d-%d", k, round)
			if err := tr.commit(ctx, append(keyed(fmt.Sprintf("key%d", k), name), named(name+" without a key")...)...); err != nil {
				return err
			}
			want = append(want, name, name+" without a key")
		}
		_, readers, err := tr.slots(ctx, GroupConfig{Slots: slots})
		if err != nil {
			return err
		}
		read, err := drainSlots(ctx, readers, 3)
		if err != nil {
			return err
		}
		for slot := range read {
			if err := oneHome(home, slot, read[slot]); err != nil {
				return err
			}
			got = append(got, read[slot]...)
		}
		if err := releaseAll(ctx, readers); err != nil {
			return err
		}
	}
	if err := expectSet(got, want); err != nil {
		return err
	}
	return expectOrder(got)
}

// oneHome notes the slot of each key, and that no slot has all of them.
func oneHome(home map[string]int, slot int, records []outbox.Record) error {
	own := make(map[string]bool)
	for i := range records {
		key := records[i].Key
		if key == "" {
			continue
		}
		if at, known := home[key]; known && at != slot {
			return fmt.Errorf("key %q is read in slots %d and %d", key, at, slot)
		}
		home[key], own[key] = slot, true
	}
	if len(own) == manyKeys {
		return fmt.Errorf("slot %d reads every key", slot)
	}
	return nil
}

// oneHolderASlot has many ask for three slots at the same time, lets one of the leases
// run out, and the session that has lost it go on.
func oneHolderASlot(ctx context.Context, tr *trial) error {
	const slots, askers = 3, 8
	src, err := tr.group(GroupConfig{Slots: slots})
	if err != nil {
		return err
	}
	holders, err := tr.askForSlots(ctx, slots, askers)
	if err != nil {
		return err
	}
	for slot, zombie := range holders {
		owner, err := takeOverFrom(ctx, src, zombie)
		if err != nil {
			return err
		}
		if at, err := slotOf(owner); err != nil || at != slot {
			return errors.Join(err, fmt.Errorf("acquire: slot %d while only %d is free", at, slot))
		}
		if owner.Epoch() <= zombie.Epoch() {
			return fmt.Errorf("slot %d: epoch %d after %d", slot, owner.Epoch(), zombie.Epoch())
		}
		if err := zombie.Renew(ctx, longTTL); !errors.Is(err, driver.ErrLeaseLost) {
			return unexpected("renew of a slot's lost lease", err, driver.ErrLeaseLost)
		}
		if err := zombie.Release(ctx); err != nil {
			return fmt.Errorf("release of a lost lease: %w", err)
		}
		if err := owner.Renew(ctx, longTTL); err != nil {
			return fmt.Errorf("renew after a lost session has released slot %d: %w", slot, err)
		}
	}
	return nil
}

// slotsKeepTheirOwnPositions settles a part in one slot and all in the other.
func slotsKeepTheirOwnPositions(ctx context.Context, tr *trial) error {
	src, readers, err := tr.slots(ctx, GroupConfig{Slots: 2})
	if err != nil {
		return err
	}
	keys, err := tr.keysOfSlots(ctx, readers)
	if err != nil {
		return err
	}
	for slot, key := range keys {
		if err := tr.commit(ctx, keyed(key, numbered(fmt.Sprintf("slot%d", slot), 5)...)...); err != nil {
			return err
		}
	}
	part, err := readers[0].expectPage(ctx, 5, numbered("slot0", 5)...)
	if err != nil {
		return err
	}
	if err := readers[0].settle(ctx, part, 2); err != nil {
		return err
	}
	if err := readers[1].expectDrain(ctx, 2, numbered("slot1", 5)...); err != nil {
		return err
	}
	if err := releaseAll(ctx, readers); err != nil {
		return err
	}
	if readers, err = acquireSlots(ctx, src, 2); err != nil {
		return err
	}
	if err := readers[0].expectDrain(ctx, 5, numbered("slot0", 5)[2:]...); err != nil {
		return fmt.Errorf("slot 0 had settled two of five: %w", err)
	}
	if err := readers[1].expectDrain(ctx, 5); err != nil {
		return fmt.Errorf("slot 1 had settled all: %w", err)
	}
	return releaseAll(ctx, readers)
}

// slotsUnderConcurrentWriters reads through three slots, whose leases are passed on now and
// then, while a storm writes and one transaction stays open.
func slotsUnderConcurrentWriters(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, keyed("late", numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	writers := newStorm(tr)
	done := writers.start(ctx, 5)
	f := tr.fleet(3)
	if err := f.follow(ctx, done); err != nil {
		return err
	}
	if err := writers.err(); err != nil {
		return err
	}
	if err := expectSet(f.got, writers.names()); err != nil {
		return fmt.Errorf("with a transaction open since before: %w", err)
	}
	if err := commitLate(ctx); err != nil {
		return err
	}
	if err := f.follow(ctx, done); err != nil {
		return err
	}
	return tr.verify(f.got, append(writers.names(), numbered("late", 3)...))
}
