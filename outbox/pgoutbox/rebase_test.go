package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func rebaseTo(start driver.Start) pgoutbox.RebaseRequest {
	return pgoutbox.RebaseRequest{Start: start, Actor: "an operator", Reason: "a drill"}
}

// moved is an outbox whose cluster has another system identifier than its positions,
// with two records that were relayed and one that was not.
func moved(t *testing.T, slots int) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1", "2")
	src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots})
	for range slots {
		s := acquireFrom(t, src)
		readAll(t, s, 10)
	}
	put(t, ob, "k", "3")
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	exec(t, db, "UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1")
	refused(t, src.Check(t.Context()), basis.ErrOtherCluster)
	return ob, db
}

// TestO2_O10_RebaseKeepsThePosition as after pg_upgrade: nothing is lost or repeated.
func TestO2_O10_RebaseKeepsThePosition(t *testing.T) {
	t.Parallel()
	for name, slots := range map[string]int{"one slot": 1, "three slots": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := moved(t, slots)
			require.NoError(t, ob.Rebase(t.Context(), pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "upgrade to 18"}))
			src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots})
			require.NoError(t, src.Check(t.Context()))
			var got []outbox.Record
			for range slots {
				got = append(got, readAll(t, acquireFrom(t, src), 10)...)
			}
			require.Equal(t, []string{"3"}, payloads(got))
			require.Equal(t, "rebase me upgrade to 18 default true", query1[string](t, db,
				"SELECT concat_ws(' ', action, actor, reason, relay_group, details ->> 'keep_position') FROM leat.outbox_audit"))
		})
	}
}

// TestO2_RebaseStartsOver at the oldest record, or now.
func TestO2_RebaseStartsOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start driver.Start
		want  []string
	}{
		"oldest": {driver.Start{Oldest: true}, []string{"1", "2", "3", "late", "4"}},
		"now":    {driver.Start{Now: true}, []string{"late", "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := moved(t, 2)
			late := begin(t, ob, db).put("l", "late")
			require.NoError(t, ob.Rebase(t.Context(), rebaseTo(c.start)))
			late.commit()
			put(t, ob, "k", "4")
			src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 2})
			got := readAll(t, acquireFrom(t, src), 10)
			got = append(got, readAll(t, acquireFrom(t, src), 10)...)
			require.ElementsMatch(t, c.want, payloads(got))
			require.Zero(t, inverted(got))
		})
	}
}

// TestO2_RebaseAdoptsTheFuture: in a log that was restored into a younger cluster, xids
// lie in the future, where no snapshot sees them.
func TestO2_RebaseAdoptsTheFuture(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	other := acquire(t, ob, "other") // which stands somewhere
	require.Len(t, readAll(t, other, 10), 3)
	exec(t, db, "UPDATE leat.outbox SET xid = (xid::text::bigint + 1000000000)::text::xid8")
	put(t, ob, "k", "written here")
	exec(t, db, "DELETE FROM leat.outbox_positions WHERE relay_group = 'default'")
	_, err := sourceOf(t, ob, pgoutbox.SourceConfig{}).Acquire(t.Context(), testLease)
	refused(t, err, basis.ErrNumberedTwice) // it is not enough to forget the position
	_, err = other.Read(t.Context(), 10)
	refused(t, err, basis.ErrNumberedTwice)

	late := begin(t, ob, db).put("l", "late")
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Equal(t, 3, query1[int](t, db, "SELECT (details ->> 'adopted')::int FROM leat.outbox_audit"))
	s := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{}))
	require.Equal(t, []string{"1", "2", "3", "written here"}, payloads(readAll(t, s, 10)))
	late.commit()
	require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
	require.Equal(t, []string{"written here", "late"}, payloads(readAll(t, other, 10)))
}

// TestRebase_Refuses what would lose messages, or cannot be.
func TestRebase_Refuses(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	ctx := t.Context()
	for field, r := range map[string]pgoutbox.RebaseRequest{
		"Start":  {Actor: "me", Reason: "r"},
		"Actor":  {KeepPosition: true, Reason: "r"},
		"Reason": {KeepPosition: true, Actor: "me", Reason: " "},
		"Group":  {Group: "nobody", KeepPosition: true, Actor: "me", Reason: "r"},
	} {
		err := ob.Rebase(ctx, r)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	both := rebaseTo(driver.Start{Now: true})
	both.KeepPosition = true
	require.ErrorIs(t, ob.Rebase(ctx, both), outbox.ErrInvalidConfig)

	keep := pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "r"}
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'someone', lease_until = clock_timestamp() + interval '1 hour'")
	err := ob.Rebase(ctx, keep)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	require.ErrorContains(t, err, "someone")
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")

	exec(t, db, `CREATE TABLE saved AS SELECT window_no, target FROM leat.outbox_positions;
		UPDATE leat.outbox_positions SET target = '999999999990:999999999999:'`)
	require.ErrorIs(t, ob.Rebase(ctx, keep), basis.ErrOtherCluster, "the server has not come to these transactions")
	exec(t, db, "UPDATE leat.outbox_positions p SET target = s.target FROM saved s WHERE s.window_no = p.window_no")

	exec(t, db, "SELECT setval('leat.outbox_seq_seq', 1)")
	for _, r := range []pgoutbox.RebaseRequest{keep, rebaseTo(driver.Start{Oldest: true})} {
		err = ob.Rebase(ctx, r)
		require.ErrorIs(t, err, basis.ErrWentBack)
		require.ErrorContains(t, err, "setval")
	}
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_audit"))
	exec(t, db, "SELECT setval('leat.outbox_seq_seq', 3)")
	require.NoError(t, ob.Rebase(ctx, keep))
}

// TestO9_RebaseFences: one that has slept through its lease comes back to another
// position.
func TestO9_RebaseFences(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1", "2")
	zombie := acquire(t, ob, "")
	page, err := zombie.Read(t.Context(), 10)
	require.NoError(t, err)
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.ErrorIs(t, zombie.Renew(t.Context(), testLease), driver.ErrLeaseLost)
	require.ErrorIs(t, zombie.Advance(t.Context(), page, 1), driver.ErrLeaseLost)
	require.Equal(t, []string{"1", "2"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}
