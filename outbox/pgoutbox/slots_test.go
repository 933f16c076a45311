package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// slotsOf acquires every slot of the group and returns them by number.
func slotsOf(t *testing.T, ob *pgoutbox.Outbox, slots int) []driver.Session {
	t.Helper()
	all := make([]driver.Session, slots)
	src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots})
	for range slots {
		s := acquireFrom(t, src)
		slotted, ok := s.(driver.Slotted)
		require.True(t, ok)
		require.Nil(t, all[slotted.Slot()])
		all[slotted.Slot()] = s
	}
	_, err := src.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	return all
}

// keysOf returns one key for each slot.
func keysOf(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, slots int) []string {
	t.Helper()
	keys := make([]string, slots)
	for found, i := 0, 0; found < slots; i++ {
		key := "key " + string(rune('a'+i%26)) + string(rune('a'+i/26))
		w := begin(t, ob, db).put(key, "x")
		var slot int
		require.NoError(t, w.QueryRow(t.Context(), "SELECT shard % $1 FROM leat.outbox WHERE key = $2", slots, key).Scan(&slot))
		w.rollback()
		if keys[slot] == "" {
			keys[slot] = key
			found++
		}
	}
	return keys
}

// TestO2_O5_SlotsShareOneChain: every slot reads its own keys, and the windows that the slots open form
// one chain.
func TestO2_O5_SlotsShareOneChain(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	keys, all := keysOf(t, ob, db, 3), slotsOf(t, ob, 3)
	late := begin(t, ob, db).put(keys[1], "late")
	for round := range 5 {
		for _, k := range keys {
			if round == 0 && k == keys[1] {
				continue // held by late
			}
			if k == keys[1] && round < 3 {
				continue
			}
			put(t, ob, k, k)
		}
		for i, s := range all {
			got := payloads(readAll(t, s, 2))
			switch {
			case i != 1:
				require.Equal(t, []string{keys[i]}, got)
			case round == 3:
				require.Equal(t, []string{"late", keys[1]}, got)
			case round == 4:
				require.Equal(t, []string{keys[1]}, got)
			default:
				require.Empty(t, got)
			}
		}
		if round == 2 {
			late.commit()
		}
	}
	require.Zero(t, query1[int](t, db, `
		SELECT count(*) FROM (SELECT window_no FROM leat.outbox_positions WHERE window_no > 0
		                      GROUP BY window_no HAVING count(DISTINCT target::text) > 1 OR count(*) FILTER (WHERE leads) <> 1) x`))
}

// TestO2_SlotFarBehind: a slot without an owner for a long time goes straight to the newest window and
// misses nothing.
func TestO2_SlotFarBehind(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	keys, all := keysOf(t, ob, db, 2), slotsOf(t, ob, 2)
	early := begin(t, ob, db).put(keys[1], "first")
	for i := range 200 {
		put(t, ob, keys[0], "x")
		if i == 100 {
			early.commit()
			put(t, ob, keys[1], "second")
		}
		require.Len(t, readAll(t, all[0], 10), 1)
	}
	const rows = "SELECT count(*) FROM leat.outbox_positions WHERE slot = $1"
	before := query1[int](t, db, rows, 1)
	require.Equal(t, []string{"first", "second"}, payloads(readAll(t, all[1], 10)))
	require.LessOrEqual(t, query1[int](t, db, rows, 1), before+2, "not one by one")
	require.LessOrEqual(t, query1[int](t, db, rows, 0), 66, "old windows are gone")
	put(t, ob, keys[1], "third")
	require.Empty(t, readAll(t, all[0], 10))
	require.Equal(t, []string{"third"}, payloads(readAll(t, all[1], 10)))
}

// TestO15_SlotsComeToRest: the writes of one slot do not keep the others busy.
func TestO15_SlotsComeToRest(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	all := slotsOf(t, ob, 4)
	put(t, ob, "k", "1", "2", "3")
	await(t, "rounds without a write", func() bool {
		for _, s := range all {
			readAll(t, s, 10)
		}
		before := state(t, db)
		for range 20 {
			for _, s := range all {
				readNothing(t, s)
			}
		}
		after := state(t, db)
		return len(before) == len(after) && before[len(before)-1] == after[len(after)-1]
	})
}

// TestO14_OwnSlotsAreTakenBack: a source whose session ended without a release reclaims the slot at once,
// but no slot that it still uses.
func TestO14_OwnSlotsAreTakenBack(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2})
	a, b := acquireFrom(t, src), acquireFrom(t, src)
	lock := begin(t, ob, db).exec("SELECT FROM leat.outbox_leases FOR UPDATE") // so that the release hangs
	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, a.Release(short))
	lock.rollback()
	again := acquireFrom(t, src)
	require.Equal(t, slotOf(t, a), slotOf(t, again))
	require.NotEqual(t, slotOf(t, b), slotOf(t, again))
	_, err := src.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
}

func slotOf(t *testing.T, s driver.Session) int {
	t.Helper()
	slotted, ok := s.(driver.Slotted)
	require.True(t, ok)
	return slotted.Slot()
}

// TestO14_Share divides the slots among the live members, and asks for another number of slots once all of
// them want it.
func TestO14_Share(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx := t.Context()
	share := func(src *pgoutbox.Source, ttl time.Duration) driver.Share {
		s, err := src.Share(ctx, ttl)
		require.NoError(t, err)
		return s
	}
	one, other := sourceOf(t, ob, pgoutbox.SourceConfig{}), sourceOf(t, ob, pgoutbox.SourceConfig{})
	require.NoError(t, acquireFrom(t, one).Release(ctx))
	for range 3 {
		require.Equal(t, driver.Share{Slots: 1, Fair: 1}, share(one, time.Hour))
		require.Equal(t, driver.Share{Slots: 1, Fair: 1}, share(other, time.Hour))
	}
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_members"), "O15: nothing is written where all have one slot")

	const next = "SELECT coalesce(max(next_slots), 0) FROM leat.outbox_groups"
	a := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 5})
	const ttl = 300 * time.Millisecond
	require.Equal(t, driver.Share{Slots: 1, Fair: 1}, share(a, time.Hour))
	require.Equal(t, driver.Share{Slots: 1, Fair: 1}, share(one, time.Hour), "it says so, since a lives")
	await(t, "it has wanted so for long enough", func() bool {
		share(a, ttl)
		return query1[bool](t, db, "SELECT since < clock_timestamp() - interval '310 ms' FROM leat.outbox_members WHERE slots = 5")
	})
	share(a, ttl)
	require.Zero(t, query1[int](t, db, next), "one of them wants what it has")
	expectDisagreement(t, ob)
	require.NoError(t, one.Leave(ctx))
	share(a, ttl)
	require.Equal(t, 5, query1[int](t, db, next), "all want it")
	s := acquireFrom(t, a)
	_, err := s.Read(ctx, 10)
	require.ErrorIs(t, err, driver.ErrSlotClosed)
	require.NoError(t, s.Release(ctx))
	s = acquireFrom(t, a)
	require.Equal(t, driver.Share{Slots: 5, Fair: 5, Retry: pglease.Retry}, share(a, time.Hour))
	require.Equal(t, driver.Share{Slots: 5, Fair: 3, Retry: pglease.Retry}, share(one, time.Hour))
	require.Equal(t, driver.Share{Slots: 5, Fair: 2, Retry: pglease.Retry}, share(other, time.Hour))
	require.NoError(t, other.Leave(ctx))
	require.Equal(t, driver.Share{Slots: 5, Fair: 3, Retry: pglease.Retry}, share(a, time.Hour))
	require.NoError(t, s.Release(ctx))
}

// lagging returns a group of two slots. The second has read the first record of a key and not sent it yet,
// while the first has set the marker of a change to one slot. After that a second record of the key was
// committed.
func lagging(t *testing.T) (ob *pgoutbox.Outbox, db *testenv.Database, slow driver.Session, unsent driver.Page) {
	t.Helper()
	ob, db = newOutbox(t, pgoutbox.Config{})
	keys, all := keysOf(t, ob, db, 2), slotsOf(t, ob, 2)
	put(t, ob, keys[1], "1")
	require.Empty(t, readAll(t, all[0], 10))
	unsent, err := all[1].Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, unsent.Records, 1)
	exec(t, db, "UPDATE leat.outbox_groups SET next_slots = 1")
	_, err = all[0].Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrSlotClosed)
	_, err = all[0].Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrSlotClosed)
	require.NoError(t, all[0].Release(t.Context()))
	put(t, ob, keys[1], "2")
	return ob, db, all[1], unsent
}

// TestO5_ChangeWaitsForEverySlot: no slot reads past the marker before every old slot has reached it.
func TestO5_ChangeWaitsForEverySlot(t *testing.T) {
	t.Parallel()
	ob, db, slow, unsent := lagging(t)
	src := sourceOf(t, ob, pgoutbox.SourceConfig{})
	var held *driver.LeaseHeldError
	_, err := src.Acquire(t.Context(), testLease)
	require.ErrorAs(t, err, &held, "the first slot has come to its end, and the other is held")
	require.LessOrEqual(t, held.Remaining, time.Second, "look again soon")

	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp() WHERE slot = 1")
	heir := acquireFrom(t, src)
	require.Equal(t, 1, slotOf(t, heir), "the slot of the dead is finished by one that lives")
	log := readUntilClosed(t, heir)
	require.Equal(t, []string{"1"}, payloads(log), "and by nobody further than the marker")
	require.NoError(t, slow.Advance(t.Context(), unsent, 1), "noted only")
	_, err = slow.Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrLeaseLost, "a zombie comes no further")
	_, err = src.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, driver.ErrLeaseHeld, "not before the last one has given its lease up")
	require.NoError(t, heir.Release(t.Context()))

	only := acquireFrom(t, src)
	log = append(log, readAll(t, only, 10)...)
	require.Equal(t, []string{"1", "2"}, payloads(log))
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_positions WHERE slot = 1"))
}

// TestO5_ChangeThatDoesNotWaitInverts is the negative control: the group gets its new number of slots
// although one slot has not reached the marker.
func TestO5_ChangeThatDoesNotWaitInverts(t *testing.T) {
	t.Parallel()
	ob, db, _, unsent := lagging(t)
	exec(t, db, "UPDATE leat.outbox_groups SET slots = 1, next_slots = NULL")
	only := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{}))
	log := append(readAll(t, only, 10), unsent.Records...)
	require.Equal(t, []string{"2", "1"}, payloads(log))
	require.Equal(t, 1, inverted(log))
}

// readUntilClosed reads and settles until the slot is closed.
func readUntilClosed(t *testing.T, s driver.Session) []outbox.Record {
	t.Helper()
	var all []outbox.Record
	for {
		page, err := s.Read(t.Context(), 10)
		if err != nil {
			require.ErrorIs(t, err, driver.ErrSlotClosed)
			return all
		}
		if len(page.Records) > 0 {
			all = append(all, page.Records...)
			require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
		}
	}
}

// expectDisagreement checks that operators see which member wants how many slots.
func expectDisagreement(t *testing.T, ob *pgoutbox.Outbox) {
	t.Helper()
	groups, err := ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{groups[0].Slots, groups[0].NextSlots})
	members, err := ob.Admin().Members(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, map[int]bool{1: true, 5: true}, map[int]bool{members[0].WantedSlots: true, members[1].WantedSlots: true})
}
