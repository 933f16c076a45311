package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// standing returns everything that a rebase changes, as text.
func standing(t *testing.T, db *testenv.Database) string {
	t.Helper()
	return query1[string](t, db, `SELECT concat_ws(';',
		(SELECT string_agg(p::text, ',' ORDER BY p::text) FROM leat.outbox_positions p),
		(SELECT string_agg(l::text, ',' ORDER BY l::text) FROM leat.outbox_leases l),
		(SELECT string_agg(g::text, ',' ORDER BY g::text) FROM leat.outbox_groups g),
		(SELECT string_agg(o.seq || ' ' || o.xid, ',' ORDER BY o.seq) FROM leat.outbox o),
		(SELECT count(*) FROM leat.outbox_audit))`)
}

// TestO2_PlanRebaseTellsWhatComes: the plan matches what is sent afterwards. Most ways to start send
// different numbers of records, so that a plan hardly fits by chance.
func TestO2_PlanRebaseTellsWhatComes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request func(at time.Time) pgoutbox.RebaseRequest
		want    pgoutbox.RebasePlan
	}{
		"oldest":    {func(time.Time) pgoutbox.RebaseRequest { return rebaseTo(driver.Start{Oldest: true}) }, pgoutbox.RebasePlan{Sends: 5, Repeats: 2}},
		"now":       {func(time.Time) pgoutbox.RebaseRequest { return leavingOut(3, driver.Start{Now: true}) }, pgoutbox.RebasePlan{LeavesOut: 3}},
		"at":        {func(at time.Time) pgoutbox.RebaseRequest { return leavingOut(1, driver.Start{At: at}) }, pgoutbox.RebasePlan{Sends: 2, LeavesOut: 1}},
		"unsettled": {func(time.Time) pgoutbox.RebaseRequest { return unsettled() }, pgoutbox.RebasePlan{Sends: 3}},
		"keep": {func(time.Time) pgoutbox.RebaseRequest {
			return pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "pg_upgrade"}
		}, pgoutbox.RebasePlan{Sends: 3}},
	} {
		for _, slots := range []int{1, 3} {
			t.Run(name+"/"+string(rune('0'+slots)), func(t *testing.T) {
				t.Parallel()
				ob, db := moved(t, slots)
				put(t, ob, "l", "4")
				put(t, ob, "m", "5")
				request := c.request(query1[time.Time](t, db, "SELECT created_at FROM leat.outbox WHERE payload = '4'"))
				before := standing(t, db)
				plan, err := ob.PlanRebase(t.Context(), request)
				require.NoError(t, err)
				require.Equal(t, c.want, plan)
				require.Equal(t, before, standing(t, db), "a plan changes nothing")
				require.NoError(t, ob.Rebase(t.Context(), request))
				require.NotEqual(t, before, standing(t, db), "negative control: a rebase does")
				src := sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots})
				var got []outbox.Record
				for range slots {
					got = append(got, readAll(t, acquireFrom(t, src), 10)...)
				}
				require.Len(t, got, int(plan.Sends))
			})
		}
	}
}

// TestO2_PlanRebaseCountsWhatStays: wherever a group starts over, what is delayed and what it has set aside
// is sent later. The plan says how many these are.
func TestO2_PlanRebaseCountsWhatStays(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	exec(t, db, "INSERT INTO leat.outbox_delayed (not_before, id, shard, topic, payload) VALUES (now() + interval '1 hour', gen_random_uuid(), 0, 'later', '')")
	exec(t, db, `INSERT INTO leat.outbox_held (relay_group, seq, state, epoch, created_at, id, shard, topic, payload)
		SELECT 'default', 1000 + n, 'parked', 1, now(), gen_random_uuid(), 0, 'bad', '' FROM generate_series(1, 2) n`)
	for _, start := range []driver.Start{{Oldest: true}, {Now: true}} {
		plan, err := ob.PlanRebase(t.Context(), rebaseTo(start))
		require.NoError(t, err)
		require.EqualValues(t, 3, plan.Later, start)
	}
	exec(t, db, "UPDATE leat.outbox_groups SET topics = '{bad}'")
	plan, err := ob.PlanRebase(t.Context(), rebaseTo(driver.Start{Oldest: true}))
	require.NoError(t, err)
	require.EqualValues(t, 2, plan.Later, "the group does not read what is delayed")
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Equal(t, 3, query1[int](t, db, "SELECT (SELECT count(*) FROM leat.outbox_delayed)::int + (SELECT count(*) FROM leat.outbox_held)::int"), "they stay")
}

// TestPlanRebase_AdoptsAndFilters: records with xids of the future are counted whatever their topic,
// others only if the group reads them.
func TestPlanRebase_AdoptsAndFilters(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	exec(t, db, "UPDATE leat.outbox SET xid = (xid::text::bigint + 1000000000)::text::xid8")
	put(t, ob, "k", "written here")
	plan, err := ob.PlanRebase(t.Context(), rebaseTo(driver.Start{Oldest: true}))
	require.NoError(t, err)
	require.EqualValues(t, 3, plan.Adopts)
	require.EqualValues(t, 4, plan.Sends)
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Equal(t, 3, query1[int](t, db, "SELECT (details ->> 'adopted')::int FROM leat.outbox_audit"))

	exec(t, db, "UPDATE leat.outbox_groups SET topics = '{no\\_such*}'")
	plan, err = ob.PlanRebase(t.Context(), rebaseTo(driver.Start{Oldest: true}))
	require.NoError(t, err)
	require.Equal(t, pgoutbox.RebasePlan{}, plan)
}

// TestPlanRebase_Refuses: PlanRebase refuses what Rebase refuses, except when a relay is running.
func TestPlanRebase_Refuses(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	ctx := t.Context()
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'someone', lease_until = clock_timestamp() + interval '1 hour'")
	plan, err := ob.PlanRebase(ctx, rebaseTo(driver.Start{Now: true}))
	require.NoError(t, err)
	require.Equal(t, "someone", plan.Holder)

	none := rebaseTo(driver.Start{Now: true})
	none.Group = "nobody"
	for _, r := range []pgoutbox.RebaseRequest{{}, none} {
		_, err = ob.PlanRebase(ctx, r)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorIs(t, ob.Rebase(ctx, r), outbox.ErrInvalidConfig)
	}
	exec(t, db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	exec(t, db, "SELECT setval('leat.outbox_seq_seq', 1)")
	for _, r := range []pgoutbox.RebaseRequest{rebaseTo(driver.Start{Now: true}), {KeepPosition: true, Actor: "me", Reason: "r"}} {
		_, err = ob.PlanRebase(ctx, r)
		want := ob.Rebase(ctx, r)
		require.Error(t, want)
		require.EqualError(t, err, want.Error())
	}
}

// TestO2_RebaseSendsWhatItGuesses: if the numbers began anew as well, only times are left to decide by.
func TestO2_RebaseSendsWhatItGuesses(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	exec(t, db, "DELETE FROM leat.outbox; SELECT setval('leat.outbox_seq_seq', 1, false)")
	put(t, ob, "k", "4")
	seesAllBut(t, db, "nothing")
	plan, err := ob.PlanRebase(t.Context(), unsettled())
	require.NoError(t, err)
	require.Equal(t, pgoutbox.RebasePlan{Sends: 1, Guesses: 1}, plan)
	require.NoError(t, ob.Rebase(t.Context(), unsettled()))
	require.Equal(t, []string{"4"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestRebase_MendsTheNumbersOfTheAudit: a logical copy contains the rows, but not the state of sequences.
func TestRebase_MendsTheNumbersOfTheAudit(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	for range 2 {
		require.NoError(t, ob.Rebase(t.Context(), unsettled()))
	}
	exec(t, db, "SELECT setval('leat.outbox_audit_no_seq', 1, false)")
	for range 2 {
		require.NoError(t, ob.Rebase(t.Context(), unsettled()))
	}
	require.Equal(t, 4, query1[int](t, db, "SELECT max(no) FROM leat.outbox_audit"))
}
