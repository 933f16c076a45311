package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_LateRowAtTheFloor: the row of a running transaction has exactly the number that is the floor of
// its window.
func TestO2_LateRowAtTheFloor(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	put(t, ob, "other", "1")
	require.Equal(t, []string{"1"}, payloads(readAll(t, s, 10)))
	late := begin(t, ob, db).put("k", "late")

	// One window stores its number as F, the next one moves it to where the one
	// after that begins.
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, page.Records)
	put(t, ob, "other", "2")
	page, err = s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, payloads(page.Records))
	require.NoError(t, s.Advance(t.Context(), page, 1))
	late.commit()
	require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
}

// TestO9_ZombieCannotFollow: where slots share their windows, a slot needs its lease to move on to the
// next one, too.
func TestO9_ZombieCannotFollow(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	zombie := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2}))
	put(t, ob, "k", "1")
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
	before := state(t, db)
	_, err := zombie.Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.Equal(t, before, state(t, db))
}

// TestO9_ZombieFarBehindRemovesNothing: a slot that is many windows behind another has only old positions.
// A zombie must not remove the newest of them.
func TestO9_ZombieFarBehindRemovesNothing(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	zombie := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2}))
	put(t, ob, "k", "1")
	const columns = `prev, target, floor, next_floor, source_floor, last, opened_by, owner, epoch, system_identifier, slots`
	exec(t, db, `INSERT INTO leat.outbox_positions (relay_group, slot, window_no, leads, `+columns+`)
		SELECT p.relay_group, p.slot, p.window_no + 1000, true, `+columns+` FROM leat.outbox_positions p
		WHERE NOT EXISTS (SELECT FROM leat.outbox_leases l WHERE l.slot = p.slot AND l.owner IS NOT NULL)`)
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
	before := state(t, db)
	_, err := zombie.Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.Equal(t, before, state(t, db))
}
