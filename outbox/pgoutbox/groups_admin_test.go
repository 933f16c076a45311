package pgoutbox_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestGroups lists the groups and changes the greatest lag each may have.
func TestGroups(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	exec(t, h.db, `INSERT INTO leat.outbox_groups (relay_group, slots, topics) VALUES ('other', 4, '{a*,b}')
		ON CONFLICT (relay_group) DO UPDATE SET slots = 4, topics = '{a*,b}'`)
	exec(t, h.db, "INSERT INTO leat.outbox_leases (relay_group, slot) VALUES ('_maintenance', 0)")
	require.NoError(t, h.ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: people(), Group: "default", MaxLag: 36 * time.Hour}))
	groups, err := h.ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, 2)
	require.Equal(t, 1, groups[0].Leases)
	require.Equal(t, 36*time.Hour, groups[0].MaxLag)
	require.WithinDuration(t, time.Now(), groups[0].CreatedAt, time.Minute)
	require.Equal(t, []any{"other", 4, []string{"a*", "b"}, time.Duration(0), 0},
		[]any{groups[1].Name, groups[1].Slots, groups[1].Topics, groups[1].MaxLag, groups[1].Leases})

	require.NoError(t, h.ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: people(), Group: "default", MaxLag: 0}))
	require.True(t, query1[bool](t, h.db, "SELECT max_lag IS NULL FROM leat.outbox_groups WHERE relay_group = 'default'"))
	require.ErrorIs(t, h.ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: people(), Group: "_maintenance", MaxLag: 1}), admin.ErrInvalidRequest)
	require.ErrorIs(t, h.ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: admin.By{}, Group: "default", MaxLag: 1}), admin.ErrInvalidRequest)
	require.Equal(t, []string{"set_max_lag", "set_max_lag"}, h.audit())
}

// TestRemoveGroup removes a group without a running relay, and nothing of another group.
func TestRemoveGroup(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	other := holdingOf(t, h.ob, h.db, "other")
	put(t, h.ob, "a", "1", "2")
	h.hold(driver.FateDead, driver.FatePark)
	other.hold(driver.FatePark, driver.FateWait)
	require.NoError(t, h.Release(t.Context()))
	for _, dryRun := range []bool{true, false} {
		removed, err := h.ob.Admin().RemoveGroup(t.Context(), admin.GroupRequest{By: people(), Group: "default", DryRun: dryRun})
		require.NoError(t, err)
		require.Equal(t, admin.Changed{Count: 1}, removed)
	}
	groups, err := h.ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, "other", groups[0].Name)
	require.Equal(t, 2, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_held"))
	require.Equal(t, 1, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_dead"))
	entries, err := h.ob.Admin().Audit(t.Context(), admin.AuditQuery{Action: "remove_group"})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.JSONEq(t, `{"held": 1, "unread": 0}`, string(entries[0].Details))
	require.Equal(t, []string{"1", "2"}, payloads(readAll(t, acquire(t, h.ob, "default"), 10)), "it begins anew")
}

// TestO2_NewGroupBesideOneThatWaits: a new group that begins now may be an old one under another name, and
// then leaves out the messages that the old one has waiting. So that is logged.
func TestO2_NewGroupBesideOneThatWaits(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	var log strings.Builder // one call at a time writes to it
	ob, err := pgoutbox.New(h.db.Pool, pgoutbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	begin := func(group string, start driver.Start) string {
		log.Reset()
		src, err := ob.Source(pgoutbox.SourceConfig{Group: group, Start: start})
		require.NoError(t, err)
		for range 2 { // it is new but once
			s, err := src.Acquire(t.Context(), time.Hour)
			require.NoError(t, err)
			require.NoError(t, s.Release(t.Context()))
		}
		return log.String()
	}
	require.Empty(t, begin("oldest", driver.Start{Oldest: true}))
	drained := holdingOf(t, h.ob, h.db, "drained")
	drained.hold(driver.FatePark, driver.FatePark, driver.FatePark) // nothing waits for it but what is parked
	said := begin("now", driver.Start{Now: true})
	require.Equal(t, 2, strings.Count(said, "a new group begins behind messages"), said)
	require.Contains(t, said, "group=now other=default waiting=3")
	require.Contains(t, said, "group=now other=oldest waiting=3")
}

// TestO2_ChangesOfTopicsAreSaid: a standby relay with other topics logs that its topics do not count yet.
// A relay that takes the lead with other topics logs the change once, with the number of messages of added
// topics that the group has passed.
func TestO2_ChangesOfTopicsAreSaid(t *testing.T) {
	t.Parallel()
	log := testenv.NewLog()
	ob, _ := newOutbox(t, pgoutbox.Config{Logger: log.Logger()})
	reads := func(topics ...string) *pgoutbox.Source { return sourceOf(t, ob, pgoutbox.SourceConfig{Topics: topics}) }
	write := func(topics ...string) {
		for _, topic := range topics {
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				return ob.Enqueue(ctx, tx, outbox.Message{Topic: topic, Key: "k", Payload: []byte(topic)})
			}))
		}
	}
	const standby, other, passed = "the relays that lead the group read other topics, which count until they stop",
		"the group reads other topics from now on", "what it has passed of them is only sent by leat replay"
	leads := acquireFrom(t, reads())
	log.Forget() // it begins in an empty outbox
	write("a", "b")
	require.Len(t, readAll(t, leads, 10), 2)
	require.NoError(t, reads().Check(t.Context()))
	require.Empty(t, log.String())

	require.NoError(t, reads("a").Check(t.Context()))
	require.Contains(t, log.String(), "level=WARN msg=\""+standby+"\" group=default reads=[a] former=[*]")
	require.NotContains(t, log.String(), other)
	require.NoError(t, leads.Release(t.Context()))

	log.Forget()
	for range 2 {
		require.NoError(t, reads("a").Check(t.Context()), "nobody leads")
		narrow := acquireFrom(t, reads("a"))
		write("b", "a")
		require.Len(t, readAll(t, narrow, 10), 1)
		require.NoError(t, narrow.Release(t.Context()))
	}
	require.NotContains(t, log.String(), standby)
	require.Equal(t, 1, strings.Count(log.String(), other))
	require.Contains(t, log.String(), "level=INFO msg=\""+other+"\" group=default reads=[a] former=[*]")

	log.Forget()
	for range 2 {
		require.NoError(t, acquireFrom(t, reads("a", "c", "b")).Release(t.Context()))
	}
	require.Equal(t, 1, strings.Count(log.String(), other))
	require.Contains(t, log.String(), "level=WARN msg=\""+other+"; "+passed+"\" group=default reads=\"[a b c]\" former=[a] passed=3")
}
