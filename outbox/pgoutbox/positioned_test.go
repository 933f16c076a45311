package pgoutbox_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// positioned starts a session whose positions a sink can keep.
func positioned(t *testing.T, ob *pgoutbox.Outbox, slots int) driver.Positioned {
	t.Helper()
	p, ok := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{SyncPositions: true, Slots: slots})).(driver.Positioned)
	require.True(t, ok)
	return p
}

// again abandons the session of the only slot and starts a new one.
func again(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) driver.Positioned {
	t.Helper()
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	return positioned(t, ob, 1)
}

// readPage reads a page and requires that it is not empty.
func readPage(t *testing.T, s driver.Session, limit int) driver.Page {
	t.Helper()
	page, err := s.Read(t.Context(), limit)
	require.NoError(t, err)
	require.NotEmpty(t, page.Records)
	return page
}

func positionAt(t *testing.T, s driver.Positioned, page driver.Page, n int) []byte {
	t.Helper()
	raw, err := s.Position(page, n)
	require.NoError(t, err)
	return raw
}

// TestO10_SeekWhereThereWasNothingSince: since the sink's position, the database has passed windows in
// which the slot had no records.
func TestO10_SeekWhereThereWasNothingSince(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	keys := keysOf(t, ob, db, 2)
	all := []driver.Positioned{positioned(t, ob, 2), positioned(t, ob, 2)}
	if slotOf(t, all[0]) != 0 {
		all[0], all[1] = all[1], all[0]
	}
	put(t, ob, keys[0], "a", "b")
	page := readPage(t, all[0], 10)
	half, whole := positionAt(t, all[0], page, 1), positionAt(t, all[0], page, 2)
	require.NoError(t, all[0].Advance(t.Context(), page, 2))
	for range 3 {
		put(t, ob, keys[1], "x")
		require.Len(t, readAll(t, all[1], 10), 1)
		require.Empty(t, readAll(t, all[0], 10))
	}
	for _, s := range all {
		require.NoError(t, s.Release(t.Context()))
	}
	s := positioned(t, ob, 2)
	if slotOf(t, s) != 0 {
		s = positioned(t, ob, 2)
	}
	require.NoError(t, s.Seek(t.Context(), whole))
	err := s.Seek(t.Context(), half)
	require.ErrorIs(t, err, driver.ErrSourceUnusable, "b was settled, and the sink does not have it")
	require.ErrorContains(t, err, "behind")
	put(t, ob, keys[0], "c")
	require.Equal(t, []string{"c"}, payloads(readAll(t, s, 10)))
}

// TestO2_SeekRefuses: Seek refuses positions that would lose or repeat records.
func TestO2_SeekRefuses(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := positioned(t, ob, 1)
	put(t, ob, "k", "1", "2", "3")
	page := readPage(t, s, 10)
	first, second := positionAt(t, s, page, 1), positionAt(t, s, page, 2)
	_, err := s.Position(page, 4)
	require.ErrorContains(t, err, "cannot settle")
	require.NoError(t, s.Advance(t.Context(), page, 2))

	change := func(field string, value any) []byte { return changed(t, second, field, value) }
	s = again(t, ob, db)
	for name, raw := range map[string][]byte{
		"behind":           first,
		"nothing":          {},
		"another format":   change("v", 2),
		"another group":    change("group", "other"),
		"another slot":     change("slot", 1),
		"no slots":         change("slots", 0),
		"another snapshot": change("target", "3:99999999:"),
		"no snapshot":      change("prev", "x"),
		"another cluster":  change("system_identifier", 7),
		"another log":      change("incarnation", 7),
		"no transaction":   change("opened_by", "x"),
	} {
		err := s.Seek(t.Context(), raw)
		require.ErrorIs(t, err, driver.ErrSourceUnusable, name)
	}
	require.ErrorIs(t, s.Seek(t.Context(), change("system_identifier", 7)), basis.ErrOtherCluster)
	require.ErrorIs(t, s.Seek(t.Context(), change("incarnation", 7)), basis.ErrLogRestarted)
	require.NoError(t, s.Seek(t.Context(), change("incarnation", 0)), "of which it was not noted")
	require.NoError(t, s.Seek(t.Context(), second))
	require.Equal(t, []string{"3"}, payloads(readAll(t, s, 10)))

	off := acquire(t, ob, "async")
	p, ok := off.(driver.Positioned)
	require.True(t, ok)
	err = p.Seek(t.Context(), second)
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.ErrorContains(t, err, "SyncPositions")
}

// TestO2_SeekRefusesADatabaseThatWentBack: D1: the sink knows of windows that the database has forgotten,
// as after a failover to a server that had not received them. Their transaction ids have been reused
// since. Seek keeps refusing, however far the server gets and however often relays start.
func TestO2_SeekRefusesADatabaseThatWentBack(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := positioned(t, ob, 1)
	put(t, ob, "k", "1", "2", "3")
	position := positionAt(t, s, readPage(t, s, 10), 2)
	exec(t, db, "DELETE FROM leat.outbox_positions WHERE window_no > 0")
	for range 3 {
		put(t, ob, "k", "4") // and xmax goes past all that the position names
		s = again(t, ob, db)
		err := s.Seek(t.Context(), position)
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		require.ErrorContains(t, err, "went back")
		require.ErrorContains(t, err, "leat rebase")
		require.ErrorContains(t, err, "window 1 was reached")
	}
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_positions WHERE window_no > 0"), "nothing was stored")

	// The same number for another window, which was opened since.
	readPage(t, s, 10)
	s = again(t, ob, db)
	require.ErrorContains(t, s.Seek(t.Context(), position), "went back")
}

// changed returns the position with another value in one field.
func changed(t *testing.T, position []byte, field string, value any) []byte {
	t.Helper()
	var p map[string]any
	d := json.NewDecoder(bytes.NewReader(position))
	d.UseNumber() // a system identifier is not a float
	require.NoError(t, d.Decode(&p))
	require.Contains(t, p, field)
	p[field] = value
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	return raw
}
