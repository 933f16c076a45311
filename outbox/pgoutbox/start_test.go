package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestStart_MustBeStated: a new group must state where it starts. The default group and groups that have
// already started need not.
func TestStart_MustBeStated(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1")
	fresh := sourceOf(t, ob, pgoutbox.SourceConfig{Group: "copies"})
	err := fresh.Check(t.Context())
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	for _, name := range []string{"must say where it starts", "oldest", "now", "a time"} {
		require.ErrorContains(t, err, name)
	}
	_, err = fresh.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_groups"), "nothing was begun")

	def := sourceOf(t, ob, pgoutbox.SourceConfig{})
	require.NoError(t, def.Check(t.Context()))
	require.Len(t, readAll(t, acquireFrom(t, def), 10), 1)

	require.NoError(t, acquire(t, ob, "copies").Release(t.Context()))
	require.NoError(t, fresh.Check(t.Context()))
	require.Len(t, readAll(t, acquireFrom(t, fresh), 10), 1)
}

// TestSourceConfig: the error names the field that is refused.
func TestSourceConfig(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	for name, c := range map[string]struct {
		cfg   pgoutbox.SourceConfig
		names []string
	}{
		"reserved":       {pgoutbox.SourceConfig{Group: "_delayed"}, []string{"Group", `"_delayed"`}},
		"two starts":     {pgoutbox.SourceConfig{Start: driver.Start{Oldest: true, Now: true}}, []string{"Start", "oldest", "one of"}},
		"negative slots": {pgoutbox.SourceConfig{Slots: -1}, []string{"Slots", "-1", "64"}},
		"too many slots": {pgoutbox.SourceConfig{Slots: 65}, []string{"Slots", "65", "64"}},
		"empty topic":    {pgoutbox.SourceConfig{Topics: []string{"a", ""}}, []string{"Topics[1]"}},
		"NUL in a topic": {pgoutbox.SourceConfig{Topics: []string{"a\x00"}}, []string{"Topics[0]", `a\x00`}},
		"many topics":    {pgoutbox.SourceConfig{Topics: make([]string, 1001)}, []string{"Topics", "1001", "1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ob.Source(c.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			for _, s := range c.names {
				require.ErrorContains(t, err, s)
			}
		})
	}
}

// TestCheck_RelaysNeedTheSchema: relays need the schema of their version, while producers need only their
// tables.
func TestCheck_RelaysNeedTheSchema(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "DROP TABLE leat.outbox_groups, leat.outbox_members CASCADE; DELETE FROM leat.outbox_migrations")
	put(t, ob, "k", "1")
	src := source(t, ob, "")
	refused(t, src.Check(t.Context()), outbox.ErrNotMigrated)
	_, err := src.Acquire(t.Context(), testLease)
	refused(t, err, outbox.ErrNotMigrated)
	_, err = src.Share(t.Context(), testLease)
	refused(t, err, outbox.ErrNotMigrated)
}
