package pgoutbox_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

func rebaseTo(start driver.Start) pgoutbox.RebaseRequest {
	return pgoutbox.RebaseRequest{Start: start, Actor: "an operator", Reason: "a drill"}
}

func leavingOut(n int64, start driver.Start) pgoutbox.RebaseRequest {
	r := rebaseTo(start)
	r.LeaveOut = n
	return r
}

func unsettled() pgoutbox.RebaseRequest {
	return pgoutbox.RebaseRequest{Unsettled: true, Actor: "an operator", Reason: "a drill"}
}

// moved returns an outbox whose cluster has another system identifier than its positions, with two records
// that were relayed and one that was not.
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

// TestO2_O10_RebaseKeepsThePosition: after pg_upgrade, a rebase that keeps the position neither loses nor
// repeats a record.
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

// TestO2_RebaseStartsOver rebases to the oldest record, or to now.
func TestO2_RebaseStartsOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request pgoutbox.RebaseRequest
		want    []string
	}{
		"oldest":    {rebaseTo(driver.Start{Oldest: true}), []string{"1", "2", "3", "late", "4"}},
		"now":       {leavingOut(1, driver.Start{Now: true}), []string{"late", "4"}},
		"unsettled": {unsettled(), []string{"3", "late", "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := moved(t, 2)
			late := begin(t, ob, db).put("l", "late")
			require.NoError(t, ob.Rebase(t.Context(), c.request))
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

// TestO2_RebaseAdoptsTheFuture: in a log that was restored into a younger cluster, xids are in the future,
// where no snapshot sees them.
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

// TestO2_RebaseAmongTheSameTransactionIDs: rows that were restored into a cluster of the same age have
// the ids of transactions that begin and end here while the rebase runs.
func TestO2_RebaseAmongTheSameTransactionIDs(t *testing.T) {
	t.Parallel()
	const rows = 2000
	for name, c := range map[string]struct {
		request pgoutbox.RebaseRequest
		sends   int
	}{
		"oldest":    {rebaseTo(driver.Start{Oldest: true}), rows},
		"unsettled": {unsettled(), rows},
		"now":       {leavingOut(rows, driver.Start{Now: true}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			require.NoError(t, acquire(t, ob, "").Release(t.Context()))
			putMany(t, ob, 0, rows)
			exec(t, db, `UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1;
				UPDATE leat.outbox SET xid = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + seq)::text::xid8`)

			blocker := begin(t, ob, db).exec("SELECT FROM leat.outbox_leases FOR UPDATE")
			done := rebaseBeside(t, ob, db, c.request)
			for range 10 {
				exec(t, db, "SELECT pg_current_xact_id()")
			}
			blocker.rollback()
			require.NoError(t, <-done)

			var want []string
			for i := range c.sends {
				want = append(want, strconv.Itoa(i))
			}
			put(t, ob, "k", "after")
			require.Equal(t, append(want, "after"), payloads(readAll(t, acquire(t, ob, ""), 1000)))
		})
	}
}

// rebaseBeside starts a rebase and waits until it is blocked.
func rebaseBeside(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, r pgoutbox.RebaseRequest) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- ob.Rebase(t.Context(), r) }()
	await(t, "the rebase is blocked", func() bool {
		return query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
	})
	return done
}

// TestRebase_BeginsAgain if something has changed since its snapshot was taken.
func TestRebase_BeginsAgain(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	blocker := begin(t, ob, db).exec("UPDATE leat.outbox_leases SET epoch = epoch + 1")
	done := rebaseBeside(t, ob, db, unsettled())
	blocker.commit()
	require.NoError(t, <-done)
	require.Equal(t, []string{"3"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestO5_RebaseBesideAnOpenTransaction: a restored row has the id of a transaction that is open here.
// It does not wait for its end, since later rows of its key would pass it.
func TestO5_RebaseBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request pgoutbox.RebaseRequest
		want    []string
	}{
		"oldest":    {rebaseTo(driver.Start{Oldest: true}), []string{"1", "2", "3"}},
		"unsettled": {unsettled(), []string{"2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := moved(t, 1)
			open := openAs(t, ob, db, "2")
			plan, err := ob.PlanRebase(t.Context(), c.request)
			require.NoError(t, err)
			require.EqualValues(t, 1, plan.Adopts)
			require.EqualValues(t, len(c.want), plan.Sends)
			require.NoError(t, ob.Rebase(t.Context(), c.request))
			s := acquire(t, ob, "")
			require.Equal(t, c.want, payloads(readAll(t, s, 10)))
			open.commit()
			require.Equal(t, []string{"open"}, payloads(readAll(t, s, 10)))
		})
	}
}

// openAs begins a transaction that has put "open", and gives its id to the row of payload.
func openAs(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, payload string) *writer {
	t.Helper()
	w := begin(t, ob, db).put("l", "open")
	var xid string
	require.NoError(t, w.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text").Scan(&xid))
	exec(t, db, "UPDATE leat.outbox SET xid = '"+xid+"' WHERE payload = '"+payload+"'")
	return w
}

// TestO2_RebaseBesideAGroupThatHasBegun: a group that has begun to read in the new cluster waits for the
// row of an open transaction. A rebase of another group does not take the row from it.
func TestO2_RebaseBesideAGroupThatHasBegun(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	open := openAs(t, ob, db, "2")
	other := acquire(t, ob, "other")
	require.Equal(t, []string{"1", "3"}, payloads(readAll(t, other, 10)))
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	rebased := acquire(t, ob, "")
	require.Equal(t, []string{"1", "3"}, payloads(readAll(t, rebased, 10)))
	open.commit()
	for _, s := range []driver.Session{other, rebased} {
		require.ElementsMatch(t, []string{"2", "open"}, payloads(readAll(t, s, 10)))
	}
}

// TestO9_RebaseUnderALeaseThatHasJustEnded: what was written under it may be missing in the snapshot.
func TestO9_RebaseUnderALeaseThatHasJustEnded(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	held := func(tx *writer) error { return ob.HeldForRebase(t.Context(), tx, unsettled()) }
	before := begin(t, ob, db)
	exec(t, db, "UPDATE leat.outbox_leases SET owner = 'someone', lease_until = clock_timestamp()")
	require.ErrorIs(t, held(before), driver.ErrLeaseHeld)
	before.rollback()
	after := begin(t, ob, db)
	require.NoError(t, held(after))
	after.rollback()
}

// TestRebase_Refuses: Rebase refuses what would lose messages or is impossible.
func TestRebase_Refuses(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	ctx := t.Context()
	for field, r := range map[string]pgoutbox.RebaseRequest{
		"Start":     {Actor: "me", Reason: "r"},
		"Actor":     {KeepPosition: true, Reason: "r"},
		"Reason":    {KeepPosition: true, Actor: "me", Reason: " "},
		"Group":     {Group: "nobody", KeepPosition: true, Actor: "me", Reason: "r"},
		"Unsettled": {Unsettled: true, KeepPosition: true, Actor: "me", Reason: "r"},
		"LeaveOut":  {Unsettled: true, LeaveOut: -1, Actor: "me", Reason: "r"},
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

// TestO9_RebaseFences: a relay that has slept through its lease finds that it has lost it, and the
// position has changed.
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

// youngerCluster returns an outbox that was moved into a younger cluster. Group default has settled 1, 2
// and 3, but neither "late", whose transaction was open for longer, nor 4. 5 and 6 were written since the
// move: their transaction ids are lower than those of the position.
func youngerCluster(t *testing.T, ahead bool) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1", "2")
	late := begin(t, ob, db).put("l", "late")
	put(t, ob, "k", "3")
	for _, group := range []string{"default", "other"} {
		require.Equal(t, []string{"1", "2", "3"}, payloads(readAll(t, acquire(t, ob, group), 10)))
	}
	late.commit()
	put(t, ob, "k", "4")
	exec(t, db, `UPDATE leat.outbox_leases SET lease_until = clock_timestamp();
		UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1`)
	if ahead {
		exec(t, db, `UPDATE leat.outbox SET xid = (xid::text::bigint + 1000000000)::text::xid8;
			CREATE FUNCTION shifted(s pg_snapshot) RETURNS pg_snapshot LANGUAGE sql AS $$
				SELECT format('%s:%s:%s', pg_snapshot_xmin(s)::text::bigint + 1000000000, pg_snapshot_xmax(s)::text::bigint + 1000000000,
					(SELECT string_agg((x::text::bigint + 1000000000)::text, ',' ORDER BY x) FROM pg_snapshot_xip(s) x))::pg_snapshot $$;
			UPDATE leat.outbox_positions SET prev = shifted(prev), target = shifted(target)`)
	}
	put(t, ob, "k", "5")
	put(t, ob, "m", "6")
	if !ahead {
		seesAllBut(t, db, "late")
	}
	return ob, db
}

// seesAllBut makes positions see all transactions so far, except that of one message, as if this cluster
// had given out ids that were settled in the former one.
func seesAllBut(t *testing.T, db *testenv.Database, payload string) {
	t.Helper()
	exec(t, db, `UPDATE leat.outbox_positions p SET prev = s.s, target = s.s
		FROM (SELECT format('%s:%s:%s', m.x, pg_snapshot_xmax(pg_current_snapshot()), m.x)::pg_snapshot AS s
		      FROM (SELECT coalesce((SELECT xid::text FROM leat.outbox WHERE payload = '`+payload+`'), '5') AS x) m) s`)
}

// TestO2_RebaseTellsWhatIsNotSettled: records written since a move count as unsettled, whatever the
// position says of their transaction ids. A rebase sends them, or leaves them out if their number is
// given. A rebase of one group leaves other groups able to recognize theirs.
func TestO2_RebaseTellsWhatIsNotSettled(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]bool{"into a younger cluster": true, "into one that has caught up": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := youngerCluster(t, ahead)
			ctx, adopts := t.Context(), int64(0)
			if ahead {
				adopts = 5
			}
			plan, err := ob.PlanRebase(ctx, rebaseTo(driver.Start{Now: true}))
			require.NoError(t, err)
			require.Equal(t, pgoutbox.RebasePlan{LeavesOut: 4, Adopts: adopts}, plan)
			plan, err = ob.PlanRebase(ctx, unsettled())
			require.NoError(t, err)
			require.Equal(t, pgoutbox.RebasePlan{Sends: 5, Repeats: 1, Adopts: adopts}, plan)

			before := standing(t, db)
			for _, r := range []pgoutbox.RebaseRequest{
				rebaseTo(driver.Start{Now: true}), leavingOut(3, driver.Start{Now: true}), rebaseTo(driver.Start{At: time.Now().Add(time.Hour)}),
			} {
				err = ob.Rebase(ctx, r)
				require.ErrorIs(t, err, outbox.ErrInvalidConfig)
				require.ErrorContains(t, err, "at least 4")
			}
			if !ahead { // here the transactions of the position would do
				err = ob.Rebase(ctx, pgoutbox.RebaseRequest{KeepPosition: true, Actor: "me", Reason: "not pg_upgrade"})
				require.ErrorContains(t, err, "at least 3")
			}
			require.Equal(t, before, standing(t, db))

			other := leavingOut(4, driver.Start{Now: true})
			other.Group = "other"
			require.NoError(t, ob.Rebase(ctx, other))
			require.Equal(t, 4, query1[int](t, db, "SELECT (details ->> 'left_out')::int FROM leat.outbox_audit"))
			others := acquire(t, ob, "other")
			require.Empty(t, readAll(t, others, 10))

			require.NoError(t, ob.Rebase(ctx, unsettled()))
			put(t, ob, "k", "7")
			require.Equal(t, []string{"late", "3", "4", "5", "6", "7"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
			require.Equal(t, []string{"7"}, payloads(readAll(t, others, 10)))
		})
	}
}

// TestO2_CopyByTemplateIsRefused: a database copied with TEMPLATE has the cluster, the files and the
// numbers of its original.
func TestO2_CopyByTemplateIsRefused(t *testing.T) {
	t.Parallel()
	other := testenv.Postgres(t)
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1", "2")
	s := acquire(t, ob, "")
	require.Len(t, readAll(t, s, 10), 2)
	require.NoError(t, s.Release(t.Context()))
	put(t, ob, "k", "3")
	original := db.Pool.Config()
	db.Pool.Close()

	of := original.ConnConfig.Database
	staging := pgx.Identifier{of + "_copy"}.Sanitize()
	exec(t, other, "CREATE DATABASE "+staging+" TEMPLATE "+pgx.Identifier{of}.Sanitize())
	t.Cleanup(func() {
		_, err := other.Pool.Exec(context.Background(), "DROP DATABASE "+staging+" WITH (FORCE)")
		require.NoError(t, err)
	})
	open := func(name string) *pgoutbox.Outbox {
		cfg := original.Copy()
		cfg.ConnConfig.Database = name
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		require.NoError(t, err)
		return ob
	}
	copied := open(of + "_copy")
	refused(t, source(t, copied, "").Check(t.Context()), basis.ErrOtherDatabase)
	_, err := source(t, copied, "").Acquire(t.Context(), testLease)
	refused(t, err, basis.ErrOtherDatabase)
	stats, err := copied.Admin().Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, basis.ErrOtherDatabase.Says, stats.Groups[0].Slots[0].Problem)
	require.NoError(t, copied.Rebase(t.Context(), unsettled()))
	require.Equal(t, []string{"3"}, payloads(readAll(t, acquire(t, copied, ""), 10)))
	require.Equal(t, []string{"3"}, payloads(readAll(t, acquire(t, open(of), ""), 10)), "the original goes on")
}

// TestO2_PlaceOfASource checks the value that relay.Config.Expect is compared with.
func TestO2_PlaceOfASource(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src := source(t, ob, "")
	is, err := src.Place(t.Context())
	require.NoError(t, err)
	cfg := db.Pool.Config().ConnConfig
	require.Equal(t, driver.Place{
		Host: cfg.Host, Database: cfg.Database, Instance: query1[string](t, db, "SELECT system_identifier::text FROM pg_control_system()"),
	}, is)
	broker := outboxtest.NewBroker()
	put(t, ob, "k", "1")
	for _, expect := range []driver.Place{is, {Database: "staging"}} {
		r, err := relay.New(src, broker.Sink(), relay.Config{Expect: expect})
		require.NoError(t, err)
		n, err := r.RunOnce(t.Context())
		if expect == is {
			require.NoError(t, err)
			require.Equal(t, 1, n)
			continue
		}
		refused(t, err, basis.ErrUnexpected)
	}
}

// alarmed collects alarms.
type alarmed struct {
	mu  sync.Mutex
	all []outbox.AlarmEvent
}

func (a *alarmed) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, e)
}

// kinds returns the alarms that were raised and those that have ended, in order.
func (a *alarmed) kinds() (kinds []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.all {
		kinds = append(kinds, fmt.Sprintf("%s %t", e.Kind, e.Ended))
	}
	return kinds
}

// TestO2_AnotherTimelineIsTold: after a promotion the history of the position is the same, so relays
// continue. For an hour each relay that leads raises an alarm; operators are shown the change permanently.
// TestO2_FailoverToAReadOnlyNode promotes a server.
func TestO2_AnotherTimelineIsTold(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1")
	lead := func() []string {
		hook := &alarmed{}
		r, err := relay.New(source(t, ob, ""), outboxtest.NewBroker().Sink(), relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		_, err = r.RunOnce(t.Context())
		require.NoError(t, err)
		return hook.kinds()
	}
	shown := func() driver.ServerChange {
		groups, err := ob.Admin().Groups(t.Context())
		require.NoError(t, err)
		require.Len(t, groups, 1)
		return groups[0].Server
	}
	require.Empty(t, lead(), "the first one")
	require.Empty(t, lead())
	require.Zero(t, shown())
	now := query1[int64](t, db, "SELECT timeline FROM leat.outbox_groups")
	require.Equal(t, query1[int64](t, db, "SELECT timeline_id::bigint FROM pg_control_checkpoint()"), now)
	exec(t, db, "UPDATE leat.outbox_groups SET timeline = timeline + 6")
	both := []string{"server_changed false", "server_changed true"}
	require.Equal(t, both, lead())
	require.Equal(t, both, lead(), "the next relay, too")
	before := func() driver.ServerChange {
		c := shown()
		require.Equal(t, fmt.Sprintf("timeline %d, timeline %d", now+6, now), c.Before+", "+c.Now)
		return c
	}
	require.Less(t, before().Age, time.Hour)
	exec(t, db, "UPDATE leat.outbox_groups SET timeline_changed = timeline_changed - interval '1 hour'")
	require.Empty(t, lead())
	require.Greater(t, before().Age, time.Hour)
}

// TestO2_BeginsInAnEmptyOutbox: a relay cannot know whether another database has the messages that it
// should relay. So it logs that its outbox has never had a message, and nothing if there are messages.
func TestO2_BeginsInAnEmptyOutbox(t *testing.T) {
	t.Parallel()
	log := testenv.NewLog()
	ob, _ := newOutbox(t, pgoutbox.Config{Logger: log.Logger()})
	require.NoError(t, acquire(t, ob, "first").Release(t.Context()))
	log.Await(t, "INFO", "an outbox that has never had a message", "group=first", "docs/moves.md")
	log.Forget()
	put(t, ob, "k", "1")
	require.NoError(t, acquire(t, ob, "second").Release(t.Context()))
	require.NotContains(t, log.String(), "never had a message")
}

// TestO2_RebaseUnsettledOfNothing: if nothing is unsettled, the rebase begins after the existing messages.
func TestO2_RebaseUnsettledOfNothing(t *testing.T) {
	t.Parallel()
	for name, put1 := range map[string]bool{"all is settled": true, "the log is empty": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			if put1 {
				put(t, ob, "k", "1")
			}
			readAll(t, acquire(t, ob, ""), 10)
			exec(t, db, `UPDATE leat.outbox_leases SET lease_until = clock_timestamp();
				UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1`)
			late := begin(t, ob, db).put("l", "late")
			require.NoError(t, ob.Rebase(t.Context(), unsettled()))
			late.commit()
			put(t, ob, "k", "2")
			require.Equal(t, []string{"late", "2"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
		})
	}
}
