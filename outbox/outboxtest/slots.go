package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// manyKeys are enough keys that no slot has all of them.
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
func keyInOneSlot(ctx context.Context, tr *trial) {
	const slots = 4
	var got []outbox.Record
	var want []string
	home := make(map[string]int)
	for round := range 3 {
		for k := range manyKeys {
			name := fmt.Sprintf("key%d-%d", k, round)
			tr.commit(ctx, append(keyed(fmt.Sprintf("key%d", k), name), named(name+" without a key")...)...)
			want = append(want, name, name+" without a key")
		}
		_, readers := tr.slots(ctx, GroupConfig{Slots: slots})
		read := drainSlots(ctx, readers, 3)
		for slot := range read {
			oneHome(home, slot, read[slot])
			got = append(got, read[slot]...)
		}
		releaseAll(ctx, readers)
	}
	expectSet(got, want)
	expectOrder(got)
}

// oneHome records the slot of each key, and checks that no slot has all of them.
func oneHome(home map[string]int, slot int, records []outbox.Record) {
	own := make(map[string]bool)
	for i := range records {
		key := records[i].Key
		if key == "" {
			continue
		}
		if at, known := home[key]; known && at != slot {
			fail.With("key %q is read in slots %d and %d", key, at, slot)
		}
		home[key], own[key] = slot, true
	}
	if len(own) == manyKeys {
		fail.With("slot %d reads every key", slot)
	}
}

// oneHolderASlot has many sessions request three slots at the same time, waits until one of the
// leases has expired, and uses the session that has lost it.
func oneHolderASlot(ctx context.Context, tr *trial) {
	const slots, askers = 3, 8
	src := tr.group(GroupConfig{Slots: slots})
	holders := tr.askForSlots(ctx, slots, askers)
	var owners []*reader // a session that is no longer known may end
	for slot, zombie := range holders {
		owner := takeOverFrom(ctx, src, zombie)
		owners = append(owners, owner)
		if at := slotOf(owner); at != slot {
			fail.With("acquire: slot %d while only %d is free", at, slot)
		}
		if owner.Epoch() <= zombie.Epoch() {
			fail.With("slot %d: epoch %d after %d", slot, owner.Epoch(), zombie.Epoch())
		}
		expectError("renew of a slot's lost lease", zombie.Renew(ctx, longTTL), driver.ErrLeaseLost)
		fail.If(zombie.Release(ctx), "release of a lost lease")
		fail.If(owner.Renew(ctx, longTTL), fmt.Sprintf("renew after a lost session has released slot %d", slot))
	}
	releaseAll(ctx, owners)
}

// slotsKeepTheirOwnPositions settles a part in one slot and everything in the other.
func slotsKeepTheirOwnPositions(ctx context.Context, tr *trial) {
	src, readers := tr.slots(ctx, GroupConfig{Slots: 2})
	keys := tr.keysOfSlots(ctx, readers)
	for slot, key := range keys {
		tr.commit(ctx, keyed(key, numbered(fmt.Sprintf("slot%d", slot), 5)...)...)
	}
	part := readers[0].expectPage(ctx, 5, numbered("slot0", 5)...)
	readers[0].settle(ctx, part, 2)
	readers[1].expectDrain(ctx, 2, numbered("slot1", 5)...)
	releaseAll(ctx, readers)
	readers = acquireSlots(ctx, src, 2)
	fail.In("slot 0 had settled two of five", func() { readers[0].expectDrain(ctx, 5, numbered("slot0", 5)[2:]...) })
	fail.In("slot 1 had settled all", func() { readers[1].expectDrain(ctx, 5) })
	releaseAll(ctx, readers)
}

// slotsUnderConcurrentWriters reads through three slots, whose leases change hands now and then,
// while a storm writes and one transaction stays open.
func slotsUnderConcurrentWriters(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, keyed("late", numbered("late", 3)...)...)
	writers := newStorm(tr)
	done := writers.start(ctx, 5)
	f := tr.fleet(3)
	f.follow(ctx, done)
	fail.If(writers.err())
	fail.In("with a transaction open since before", func() { expectSet(f.got, writers.names()) })
	commitLate(ctx)
	f.follow(ctx, done)
	tr.verify(f.got, append(writers.names(), numbered("late", 3)...))
}

// slotsAreShared divides five slots among sources that join, leave and die.
func slotsAreShared(ctx context.Context, tr *trial) {
	var sources []driver.Sharded
	for range 3 {
		src := tr.group(GroupConfig{Slots: 5})
		sharded, ok := src.(driver.Sharded)
		if !ok {
			fail.Now(errNoSharded)
		}
		sources = append(sources, sharded)
	}
	r := acquireFrom(ctx, sources[0]) // so that the group exists
	for i, fair := range []int{5, 3, 2} {
		fail.If(checkShare(ctx, sources[i], longTTL, fair), fmt.Sprintf("source %d of 3 that have come", i+1))
	}
	fail.If(sources[1].Leave(ctx), "leave")
	fail.If(checkShare(ctx, sources[0], longTTL, 3), "after one of 3 has left")
	_, err := sources[2].Share(ctx, time.Millisecond)
	fail.If(err, "share")
	for {
		err := checkShare(ctx, sources[0], longTTL, 5)
		if err == nil {
			fail.If(r.Release(ctx))
			return
		}
		if ended := pause(ctx); ended != nil {
			fail.With("after another has lived for a millisecond: %w", errors.Join(err, ended))
		}
	}
}

func checkShare(ctx context.Context, src driver.Sharded, ttl time.Duration, fair int) error {
	share, err := src.Share(ctx, ttl)
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	if want := (driver.Share{Slots: 5, Fair: fair, Retry: share.Retry}); share != want {
		return fmt.Errorf("share: %+v, want %+v", share, want)
	}
	return nil
}

func slotChangeChecks() []Check {
	return unless(noSlotChange,
		Check{Name: "O2_ChangeOfSlotsLosesNothing", run: changeOfSlotsLosesNothing},
		Check{Name: "O5_ChangeOfSlotsWaitsForEverySlot", run: changeWaitsForEverySlot},
		Check{Name: "O14_SlotsThatDisagreeStay", run: slotsThatDisagreeStay},
	)
}

func noSlotChange(f Features) bool { return f.NoSlots || f.FixedSlots }

// changeOfSlotsLosesNothing changes the number of slots again and again while a storm
// and others write. Nothing fails, so each committed record is read exactly once, in the
// order of its key.
func changeOfSlotsLosesNothing(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, keyed("late", "late")...)
	writers := newStorm(tr)
	done := writers.start(ctx, 6)
	f := tr.fleet(2)
	want := []string{"late"}
	f.meanwhile = func() {
		key := fmt.Sprintf("changing%d", len(want)%8)
		name := fmt.Sprintf("%s at %d", key, len(want))
		want = append(want, name)
		tr.commit(ctx, keyed(key, name)...)
	}
	for i, slots := range []int{2, 3, 1, 4} {
		fail.In(fmt.Sprintf("change to %d slots", slots), func() { f.change(ctx, slots) })
		if i == 1 {
			commitLate(ctx)
		}
	}
	f.follow(ctx, done)
	fail.If(writers.err())
	tr.verify(f.got, append(writers.names(), want...))
}

// changeWaitsForEverySlot changes two slots to one while the second has read the first record of
// a key and not settled it. The second record of the key is committed when the first slot has
// ended.
func changeWaitsForEverySlot(ctx context.Context, tr *trial) {
	_, readers := tr.slots(ctx, GroupConfig{Slots: 2})
	keys := tr.keysOfSlots(ctx, readers)
	tr.commit(ctx, keyed(keys[1], "first")...)
	readers[0].expectDrain(ctx, 10)
	unsent := readers[1].expectPage(ctx, 10, "first")
	src := tr.closeSlot(ctx, readers[0])
	tr.commit(ctx, keyed(keys[1], "second")...)
	expectNoOvertaking(ctx, src)
	readers[1].settle(ctx, unsent, 1)
	f := tr.fleet(1)
	f.readers[1] = readers[1]
	f.change(ctx, 1)
	f.round(ctx)
	expect(f.got, "second")
}

// slotsThatDisagreeStay configures two relays of a group with different numbers of slots. The number stays for as
// long as they differ, which operators see, until both agree. If the only relay of a group is configured with the
// current number, it reports how long it has been.
func slotsThatDisagreeStay(ctx context.Context, tr *trial) {
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	asks := func(group string, slots int) driver.Sharded {
		src, ok := tr.group(GroupConfig{Name: group, Slots: slots}).(driver.Sharded)
		if !ok {
			fail.Now(errNoSharded)
		}
		return src
	}
	share := func(src driver.Sharded, ttl time.Duration) {
		_, err := src.Share(ctx, ttl)
		fail.If(err, "share")
	}
	next := func(group string) int {
		groups, err := manager.Groups(ctx)
		fail.If(err, "groups")
		at := slices.IndexFunc(groups, func(g admin.Group) bool { return g.Name == group })
		if at < 0 || groups[at].Slots != 1 {
			fail.With("groups: %+v, want %q with one slot", groups, group)
		}
		return groups[at].NextSlots
	}
	stays, deployed, alone := asks("torn", 1), asks("torn", 3), asks("alone", 3)
	for _, group := range []string{"torn", "alone"} {
		fail.If(tr.acquireGroup(ctx, GroupConfig{Name: group}).Release(ctx))
	}
	share(deployed, longTTL) // so that it is alive when the other one requests its number
	for share(stays, longTTL); next("alone") == 0; fail.If(pause(ctx), "the only relay wants 3 slots, and they are not asked for") {
		share(deployed, changeTTL)
		share(alone, changeTTL)
		if n := next("torn"); n != 0 {
			fail.With("%d slots are asked for, while one of two relays wants what there is", n)
		}
	}
	fail.If(stays.Leave(ctx), "leave")
	for next("torn") != 3 {
		share(deployed, changeTTL)
		fail.If(pause(ctx), "all relays want 3 slots, and they are not asked for")
	}
}

// closeSlot requests one slot until r is closed, and releases it. It returns the source that is configured
// with one slot.
func (tr *trial) closeSlot(ctx context.Context, r *reader) driver.Sharded {
	src := tr.group(GroupConfig{Slots: 1})
	wants, ok := src.(driver.Sharded)
	if !ok {
		fail.Now(errNoSharded)
	}
	for {
		_, err := wants.Share(ctx, changeTTL)
		fail.If(err, "share")
		p, err := r.tryPage(ctx, 10)
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			fail.If(r.Release(ctx))
			return wants
		case err != nil:
			fail.Now(err)
		case len(p.Records) > 0:
			fail.With("read: %s in a slot that has nothing", describe(p.Records))
		}
		fail.If(pause(ctx), "the slots do not change")
	}
}

// expectNoOvertaking expects that reading does not continue while a slot has not ended.
func expectNoOvertaking(ctx context.Context, src driver.Source) {
	s, err := src.Acquire(ctx, longTTL)
	if errors.Is(err, driver.ErrLeaseHeld) {
		return
	}
	fail.If(err, "acquire")
	r := &reader{Session: s}
	p, err := r.tryPage(ctx, 10)
	if !errors.Is(err, driver.ErrSlotClosed) {
		fail.If(err)
	}
	if len(p.Records) > 0 {
		fail.With("read: %s while an earlier record of the key is not settled", describe(p.Records))
	}
	fail.If(r.Release(ctx))
}

// askForSlots has several askers request a slot each, at the same time, and returns the sessions
// by their slots.
func (tr *trial) askForSlots(ctx context.Context, slots, askers int) []*reader {
	type answer struct {
		s   driver.Session
		err error
	}
	answers := make(chan answer, askers)
	for range askers {
		src := tr.group(GroupConfig{Slots: slots})
		go func() {
			s, err := src.Acquire(ctx, longTTL)
			answers <- answer{s, err}
		}()
	}
	holders := make([]*reader, slots)
	var errs []error
	for range askers {
		a := <-answers
		if a.err != nil {
			errs = append(errs, heldBy(a.err))
			continue
		}
		r := &reader{Session: a.s}
		at := slotOf(r)
		if at < 0 || at >= slots || holders[at] != nil {
			fail.With("acquire: two hold the lease of slot %d of %d", at, slots)
		}
		holders[at] = r
	}
	for at, r := range holders {
		if r == nil {
			errs = append(errs, fmt.Errorf("acquire: nobody got slot %d of %d, which was free", at, slots))
		}
	}
	fail.IfAny(errs...)
	return holders
}

// changeTTL is how long a source must request another number of slots.
const changeTTL = 300 * time.Millisecond

// pause yields to other goroutines. Its only error is that of ctx.
func pause(ctx context.Context) error {
	return wait.For(ctx, 2*time.Millisecond)
}

// fleet reads all slots of testGroup, like relays that share them.
type fleet struct {
	tr        *trial
	slots     int
	positions bool   // a sink stores them
	meanwhile func() // change calls it repeatedly
	readers   map[int]*reader
	got       []outbox.Record
}

func (tr *trial) fleet(slots int) *fleet {
	return &fleet{tr: tr, slots: slots, readers: make(map[int]*reader), meanwhile: func() {}}
}

// staff acquires every slot that is free.
func (f *fleet) staff(ctx context.Context, src driver.Source) {
	for {
		s, err := src.Acquire(ctx, longTTL)
		if errors.Is(err, driver.ErrLeaseHeld) {
			return
		}
		fail.If(err, "acquire")
		r := &reader{Session: s}
		slot := slotOf(r)
		if f.readers[slot] != nil {
			fail.With("acquire: two hold the lease of slot %d", slot)
		}
		f.readers[slot] = r
	}
}

// round reads and settles a page of every slot, releases those that are closed, and
// returns the number of records.
func (f *fleet) round(ctx context.Context) int {
	before := len(f.got)
	for _, slot := range slices.Sorted(maps.Keys(f.readers)) {
		r := f.readers[slot]
		p, err := r.tryPage(ctx, 7)
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			delete(f.readers, slot)
			fail.If(r.Release(ctx), fmt.Sprintf("release of closed slot %d", slot))
			continue
		case err != nil:
			fail.With("slot %d: %w", slot, err)
		case p.Waiting:
			fail.With("slot %d: %w", slot, errWaitingIdle)
		case len(p.Records) == 0:
			continue
		}
		f.got = append(f.got, p.Records...)
		fail.In(fmt.Sprintf("slot %d", slot), func() { r.settle(ctx, p, len(p.Records)) })
	}
	if len(f.got) > mostRecords {
		fail.Now(errNoEnd)
	}
	return len(f.got) - before
}

// follow reads until writers is closed and nothing is left, and hands over the leases in turn. It
// holds none in the end.
func (f *fleet) follow(ctx context.Context, writers <-chan struct{}) {
	src := f.tr.group(GroupConfig{Slots: f.slots, Positions: f.positions})
	for turn := 0; ; turn++ {
		f.staff(ctx, src)
		finished := closed(writers) && len(f.readers) == f.slots
		n := f.round(ctx)
		switch {
		case n == 0 && finished:
			f.release(ctx)
			return
		case n == 0:
			fail.If(pause(ctx))
		}
		if r := f.readers[turn%f.slots]; r != nil {
			delete(f.readers, turn%f.slots)
			fail.If(r.Release(ctx), fmt.Sprintf("release of slot %d", turn%f.slots))
		}
	}
}

func (f *fleet) release(ctx context.Context) {
	for slot, r := range f.readers {
		delete(f.readers, slot)
		fail.If(r.Release(ctx), fmt.Sprintf("release of slot %d", slot))
	}
}

// change changes the group to another number of slots, reads what arrives in the meantime, and
// returns when all new slots are held.
func (f *fleet) change(ctx context.Context, slots int) {
	src := f.tr.group(GroupConfig{Slots: slots, Positions: f.positions})
	wants, ok := src.(driver.Sharded)
	if !ok {
		fail.Now(errNoSharded)
	}
	f.slots = slots
	for {
		f.staff(ctx, src)
		share, err := wants.Share(ctx, changeTTL)
		fail.If(err, "share")
		if share.Slots == slots && len(f.readers) == slots {
			fail.If(wants.Leave(ctx))
			return
		}
		f.round(ctx)
		f.meanwhile()
		fail.If(pause(ctx), fmt.Sprintf("%d slots were asked for, the group has %d", slots, share.Slots))
	}
}
