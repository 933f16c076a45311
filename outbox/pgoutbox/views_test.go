package pgoutbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// pending returns the payloads that, according to the view, group has not settled.
func pending(t *testing.T, db *testenv.Database, group string) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `
		SELECT convert_from(o.payload, 'UTF8') FROM leat.outbox_pending p JOIN leat.outbox o USING (seq)
		WHERE p.relay_group = $1 ORDER BY seq`, group)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return all
}

// TestViews: what the views show in psql is what a relay would still send.
func TestViews(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	const g = "default"
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_status"), "no group yet")
	late := begin(t, ob, db).put("late", "late")
	put(t, ob, "k", "1", "2", "3")
	s := acquire(t, ob, g)
	require.Equal(t, []string{"1", "2", "3"}, pending(t, db, g))
	page, err := s.Read(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, pending(t, db, g), "read, not settled")
	require.NoError(t, s.Advance(t.Context(), page, 1))
	require.Equal(t, []string{"2", "3"}, pending(t, db, g))
	late.commit()
	require.Equal(t, []string{"late", "2", "3"}, pending(t, db, g), "late has the lowest number and lies ahead")
	put(t, ob, "k", "4")
	require.Equal(t, []string{"late", "2", "3", "4"}, pending(t, db, g))

	status := "SELECT pending FROM leat.outbox_status WHERE relay_group = $1"
	require.Equal(t, 4, query1[int](t, db, status, g))
	require.True(t, query1[bool](t, db, `
		SELECT owner IS NOT NULL AND lease_left > interval '10 s' AND lag > interval '0' AND epoch = 1 AND window_no = 1
		FROM leat.outbox_status`))

	require.NoError(t, s.Advance(t.Context(), page, 2))
	require.Equal(t, []string{"3", "late", "4"}, payloads(readAll(t, s, 10)))
	require.Empty(t, pending(t, db, g))
	require.Zero(t, query1[int](t, db, status, g))
	require.NoError(t, s.Release(t.Context()))
	require.True(t, query1[bool](t, db, "SELECT owner IS NULL AND lease_left IS NULL AND oldest_pending IS NULL FROM leat.outbox_status"))

	acquire(t, ob, "other")
	require.Equal(t, []string{"late", "1", "2", "3", "4"}, pending(t, db, "other"))
	require.Equal(t, 5, query1[int](t, db, status, "other"))
	require.Zero(t, query1[int](t, db, status, g))
}

// TestViews_WhatIsSetAside: when everything is set aside, pending and lag are empty, but held and held_lag
// show it.
func TestViews_WhatIsSetAside(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	require.True(t, query1[bool](t, h.db, "SELECT held = 0 AND held_lag IS NULL AND pending = 2 FROM leat.outbox_status"))
	h.hold(driver.FateRetry, driver.FateWait)
	require.True(t, query1[bool](t, h.db, "SELECT held = 2 AND held_lag > interval '0' AND pending = 0 AND lag IS NULL FROM leat.outbox_status"))
}

// TestViews_PendingColumns looks a message up as a person would.
func TestViews_PendingColumns(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	acquire(t, ob, "")
	msgs := keyed("order-17", "four")
	msgs[0].ID, msgs[0].Type = "01J0B3V1MK1SVBHBJZ4AGXP5ZS", "placed"
	w := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), w.Tx, msgs...))
	w.commit()
	require.Equal(t, "01J0B3V1MK1SVBHBJZ4AGXP5ZS events order-17 placed 4", query1[string](t, db,
		"SELECT concat_ws(' ', id, topic, key, type, payload_bytes) FROM leat.outbox_pending"))
}

// TestViews_Slots: each message is pending in exactly one slot, even while the slots are being changed.
func TestViews_Slots(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	keys, all := keysOf(t, ob, db, 3), slotsOf(t, ob, 3)
	const pendingSlots = "SELECT coalesce(string_agg(concat(slot, ':', topic), ' ' ORDER BY slot), '') FROM leat.outbox_pending"
	put(t, ob, keys[0], "x")
	put(t, ob, keys[2], "x")
	require.Equal(t, "0:events 2:events", query1[string](t, db, pendingSlots))
	readAll(t, all[0], 10)
	require.Equal(t, "2:events", query1[string](t, db, pendingSlots))
	require.Equal(t, "0 0,1 0,2 1", query1[string](t, db, "SELECT string_agg(concat_ws(' ', slot, pending), ',' ORDER BY slot) FROM leat.outbox_status"))

	exec(t, db, "UPDATE leat.outbox_groups SET next_slots = 2")
	for _, s := range all[:2] {
		require.Empty(t, readUntilClosed(t, s))
		require.NoError(t, s.Release(t.Context()))
	}
	put(t, ob, keys[1], "x")
	require.Equal(t, "1:events 2:events", query1[string](t, db, pendingSlots))
	require.Equal(t, "3 2", query1[string](t, db, "SELECT DISTINCT concat_ws(' ', slots, next_slots) FROM leat.outbox_status"))
	require.Len(t, readUntilClosed(t, all[2]), 1)
	require.NoError(t, all[2].Release(t.Context()))
	acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2}))
	require.Equal(t, 1, query1[int](t, db, "SELECT count(*) FROM leat.outbox_pending"))
	require.Equal(t, 2, query1[int](t, db, "SELECT count(*) FROM leat.outbox_status"))
}
