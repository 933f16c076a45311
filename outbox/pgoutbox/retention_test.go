package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// atOnce returns a config of maintenance that drops everything as soon as it may.
func atOnce() pgoutbox.MaintenanceConfig {
	cfg := small()
	cfg.Retention = time.Microsecond
	return cfg
}

// age makes all messages older. The given maintenances forget when they saw the messages arrive.
func age(t *testing.T, db *testenv.Database, by string, all ...*pgoutbox.Maintenance) {
	t.Helper()
	for _, m := range all {
		m.ForgetClock()
	}
	exec(t, db, "UPDATE leat.outbox SET created_at = created_at - interval '"+by+"'")
}

// settle reads and settles everything, so that the position passes it.
func settle(t *testing.T, s driver.Session) {
	t.Helper()
	readAll(t, s, 100)
}

// TestO2_RetentionByAge drops ranges that are old and settled, oldest first, and nothing else.
func TestO2_RetentionByAge(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	s := acquire(t, ob, "")
	cfg := small()
	m := maintenance(t, ob, cfg)
	putMany(t, ob, 0, 10)
	age(t, db, "8 days")
	putMany(t, ob, 10, 11)
	settle(t, s)
	report := once(t, m)
	require.Equal(t, []string{"outbox_p1"}, report.Dropped)
	require.Equal(t, 11, stored(t, db))
	require.Equal(t, 1, query1[int](t, db, `SELECT count(*) FROM leat.outbox_audit
		WHERE action = 'drop_range' AND actor = 'maintenance' AND details ->> 'table' = 'outbox_p1'`))

	cfg.Retention = -1
	age(t, db, "8 days", m)
	require.Empty(t, once(t, maintenance(t, ob, cfg)).Dropped, "kept for ever")
	require.Equal(t, []string{"outbox_p2", "outbox_p3"}, once(t, m).Dropped, "the one in use is closed")
	putMany(t, ob, 21, 1)
	require.Len(t, readAll(t, s, 10), 1)
}

// TestO2_RetentionBySize drops the oldest ranges while the log is too large, whatever their age, but never
// before every group has passed them.
func TestO2_RetentionBySize(t *testing.T) {
	t.Parallel()
	ob, _ := smallRanges(t)
	fast, slow := acquire(t, ob, "fast"), acquire(t, ob, "slow")
	cfg := small()
	cfg.MaxBytes = 1
	m := maintenance(t, ob, cfg)
	putMany(t, ob, 0, 15)
	settle(t, slow)
	putMany(t, ob, 15, 15)
	settle(t, fast)
	require.Equal(t, []string{"outbox_p1"}, once(t, m).Dropped)
	require.Empty(t, once(t, m).Dropped)
	require.Len(t, readAll(t, slow, 10), 15)
	require.Equal(t, []string{"outbox_p2"}, once(t, m).Dropped)
}

// TestO2_NothingGoesUnread: no range is dropped before every group has settled all of it, or while there
// is no group yet.
func TestO2_NothingGoesUnread(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, atOnce())
	putMany(t, ob, 0, 25)
	require.Empty(t, once(t, m).Dropped, "nobody has read anything")

	s := acquire(t, ob, "")
	require.Empty(t, once(t, m).Dropped, "the group has just begun")
	page, err := s.Read(t.Context(), 25)
	require.NoError(t, err)
	require.Len(t, page.Records, 25)
	require.Empty(t, once(t, m).Dropped, "read is not settled")
	require.NoError(t, s.Advance(t.Context(), page, 10))
	require.Equal(t, []string{"outbox_p1"}, once(t, m).Dropped, "the window is settled up to 10")
	require.NoError(t, s.Advance(t.Context(), page, 19))
	require.Empty(t, once(t, m).Dropped)
	require.NoError(t, s.Advance(t.Context(), page, 20))
	require.Equal(t, []string{"outbox_p2"}, once(t, m).Dropped)
	require.Equal(t, 5, stored(t, db))
}

// TestO2_EverySlotCounts: a group has passed a range only when each of its slots has, including slots
// without a position.
func TestO2_EverySlotCounts(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, atOnce())
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, "g"))
	exec(t, db, `INSERT INTO leat.outbox_groups (relay_group, slots) VALUES ('g', 2)
		ON CONFLICT (relay_group) DO UPDATE SET slots = 2`)
	require.Empty(t, once(t, m).Dropped, "slot 1 has no position")
	exec(t, db, `INSERT INTO leat.outbox_positions (relay_group, slot, window_no, prev, target, floor, next_floor,
			source_floor, last, owner, epoch, system_identifier)
		SELECT relay_group, 1, 0, '3:3:', '3:3:', 0, 0, 0, 0, owner, epoch, system_identifier
		FROM leat.outbox_positions ORDER BY window_no LIMIT 1`)
	require.Empty(t, once(t, m).Dropped, "slot 1 is at the start")
	exec(t, db, `UPDATE leat.outbox_positions p SET prev = n.prev, target = n.target, last = n.last
		FROM (SELECT * FROM leat.outbox_positions WHERE slot = 0 ORDER BY window_no DESC LIMIT 1) n WHERE p.slot = 1`)
	require.Equal(t, []string{"outbox_p1", "outbox_p2"}, once(t, m).Dropped)
}

// TestO2_AnotherSlotsRowsPinNothing: in the newest window, a slot pins only rows of its own shards.
func TestO2_AnotherSlotsRowsPinNothing(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, atOnce())
	putMany(t, ob, 0, 25)
	page, err := acquire(t, ob, "g").Read(t.Context(), 100) // all in one window, and nothing of it is settled
	require.NoError(t, err)
	require.Len(t, page.Records, 25)
	require.Empty(t, once(t, m).Dropped)
	require.NotZero(t, query1[int](t, db, "SELECT min(shard) FROM leat.outbox"))
	exec(t, db, "UPDATE leat.outbox_positions SET slots = 64")
	require.Len(t, once(t, m).Dropped, 2, "none is of slot 0")
}

// TestO2_ReservedGroupsPinNothing: the leases of maintenance itself are not groups.
func TestO2_ReservedGroupsPinNothing(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	exec(t, db, "INSERT INTO leat.outbox_groups (relay_group) VALUES ('_other')")
	m := maintenance(t, ob, atOnce())
	putMany(t, ob, 0, 25)
	require.Empty(t, once(t, m).Dropped)
	settle(t, acquire(t, ob, ""))
	require.Len(t, once(t, m).Dropped, 2)
}

// TestO2_MaxLag: a group with a greatest lag is first warned about and then pins nothing any more. A group
// without one pins history forever, which raises an alarm.
func TestO2_MaxLag(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	exec(t, db, "INSERT INTO leat.outbox_groups (relay_group, max_lag) VALUES ('bounded', '10 days'), ('endless', NULL)")
	cfg := small()
	m := maintenance(t, ob, cfg)
	acquire(t, ob, "endless")
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, ""))
	require.Empty(t, once(t, m).Alarms)

	kinds := func(r admin.MaintenanceReport) map[string]outbox.AlarmKind {
		all := map[string]outbox.AlarmKind{}
		for _, a := range r.Alarms {
			require.Greater(t, attr(a, "lag").Duration(), 100*time.Hour)
			all[a.Group] = a.Kind
		}
		return all
	}
	age(t, db, "6 days", m)
	report := once(t, m)
	require.Equal(t, map[string]outbox.AlarmKind{"bounded": pgoutbox.AlarmLag, "endless": pgoutbox.AlarmLag}, kinds(report),
		"before it pins history")
	require.Equal(t, 240*time.Hour, attr(report.Alarms[0], "limit").Duration())
	require.Equal(t, 7*24*time.Hour, attr(report.Alarms[1], "limit").Duration())
	age(t, db, "2 days", m)
	require.Equal(t, map[string]outbox.AlarmKind{"bounded": pgoutbox.AlarmLag, "endless": pgoutbox.AlarmHistoryPinned}, kinds(once(t, m)))
	age(t, db, "3 days", m)
	report = once(t, m)
	require.Equal(t, map[string]outbox.AlarmKind{"bounded": pgoutbox.AlarmLagExceeded, "endless": pgoutbox.AlarmHistoryPinned}, kinds(report))
	require.Empty(t, report.Dropped, "endless holds it back")

	settle(t, acquire(t, ob, "another"))
	exec(t, db, "UPDATE leat.outbox_groups SET max_lag = '100 days' WHERE relay_group = 'endless'")
	require.Empty(t, once(t, m).Dropped, "so it does within its lag")
	exec(t, db, "DELETE FROM leat.outbox_groups WHERE relay_group = 'endless'; DELETE FROM leat.outbox_positions WHERE relay_group = 'endless'")
	require.Equal(t, []string{"outbox_p1", "outbox_p2", "outbox_p3"}, once(t, m).Dropped)
	require.Equal(t, 3, query1[int](t, db, "SELECT count(*) FROM leat.outbox_audit WHERE action = 'lose_history' AND relay_group = 'bounded'"))
}

// TestO2_ClockThatJumps: one round of maintenance sees a clock that is a month ahead, while a group with a
// greatest lag is seconds behind. The group loses nothing, and neither dead records nor the audit are
// pruned.
func TestO2_ClockThatJumps(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	exec(t, db, "INSERT INTO leat.outbox_groups (relay_group, max_lag) VALUES ('bounded', '1 day')")
	acquire(t, ob, "bounded")
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, ""))
	exec(t, db, `INSERT INTO leat.outbox_audit (action, actor, reason) VALUES ('test', 'test', 'test');
		INSERT INTO leat.outbox_dead (relay_group, seq, epoch, died_at, created_at, id, shard, topic, payload)
		VALUES ('g', 1, 1, now(), current_timestamp, gen_random_uuid(), 0, 't', '')`)
	cfg := small()
	cfg.KeepAudit, cfg.KeepDead = 24*time.Hour, 24*time.Hour
	m := maintenance(t, ob, cfg)
	for _, f := range []string{"clock_timestamp", "statement_timestamp"} {
		exec(t, db, `ALTER FUNCTION pg_catalog.`+f+`() RENAME TO `+f+`_right;
			CREATE FUNCTION pg_catalog.`+f+`() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT pg_catalog.`+f+`_right() + interval '1 month' $$`)
	}
	db.Pool.Reset() // plans were made with the other functions
	report := once(t, m)
	require.Empty(t, report.Dropped)
	require.Zero(t, report.PrunedAudit)
	require.Zero(t, report.PrunedDead)
	require.Len(t, report.Alarms, 1)
	require.Equal(t, pgoutbox.AlarmClock, report.Alarms[0].Kind)
	require.Contains(t, report.Alarms[0].Detail, "the clocks of database and process differ by")
}

// TestO2_ClockThatWasBehind: messages are enqueued while the clock is a month behind, and look old once it
// is right. A group with a greatest lag that is behind only by these messages loses none of them, and a
// message that was sent a moment ago is not dropped.
func TestO2_ClockThatWasBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  pgoutbox.MaintenanceConfig
	}{{"ranges", small()}, {"rows", pgoutbox.MaintenanceConfig{NoDDL: true}}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ob, db := smallRanges(t)
			exec(t, db, "INSERT INTO leat.outbox_groups (relay_group, max_lag) VALUES ('bounded', '1 day')")
			bounded, other := acquire(t, ob, "bounded"), acquire(t, ob, "")
			putMany(t, ob, 0, 3)
			settle(t, bounded)
			m := maintenance(t, ob, c.cfg)
			require.Empty(t, once(t, m).Alarms)
			putMany(t, ob, 3, 25)
			age(t, db, "1 month") // that is what the clock has written
			settle(t, other)
			report := once(t, m)
			require.Empty(t, report.Alarms)
			require.Empty(t, report.Dropped)
			require.LessOrEqual(t, report.Deleted, int64(3), "those that were there before")
			require.Len(t, readAll(t, bounded, 100), 25)
			report = once(t, m)
			require.Zero(t, len(report.Dropped)+int(report.Deleted), "sent a moment ago")
			m.ForgetClock()
			report = once(t, m)
			require.Positive(t, len(report.Dropped)+int(report.Deleted), "it is the age that is not believed")
		})
	}
}

// TestO2_Archive: each record is archived before it is dropped; if archiving fails, it stays.
func TestO2_Archive(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	var archived []string
	fail := errors.New("disk full")
	cfg := atOnce()
	cfg.Archive = func(_ context.Context, part admin.Range, records iter.Seq2[outbox.Record, error]) error {
		for r, err := range records {
			if err != nil {
				return err
			}
			if r.Seq < part.From || r.Seq >= part.To {
				return fmt.Errorf("record %d in range %d to %d", r.Seq, part.From, part.To)
			}
			archived = append(archived, string(r.Payload))
		}
		return fail
	}
	m := maintenance(t, ob, cfg)
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, ""))
	report, err := m.RunOnce(t.Context())
	require.ErrorIs(t, err, fail)
	require.ErrorIs(t, m.State().Rounds.LastErr, fail, "that is what probes tell")
	require.True(t, m.State().Rounds.LastSuccess.IsZero(), "which the alert on maintenance goes by")
	require.Empty(t, report.Dropped)
	require.NotEmpty(t, report.Added, "the rest of the round is done")
	require.Equal(t, 25, stored(t, db))

	fail, archived = nil, nil
	require.Len(t, once(t, m).Dropped, 2)
	require.NoError(t, m.State().Rounds.LastErr)
	require.Len(t, archived, 20)
	for i, payload := range archived {
		require.Equal(t, strconv.Itoa(i), payload)
	}
}

// TestO2_ArchiveOfALateRow: a row that is committed after its range was read for the archive is archived,
// too, before the range is dropped.
func TestO2_ArchiveOfALateRow(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	s := acquire(t, ob, "")
	late := begin(t, ob, db).put("late", "late")
	putMany(t, ob, 0, 25)
	settle(t, s)
	var archived []string
	cfg := atOnce()
	rounds := 0
	cfg.Archive = func(ctx context.Context, part admin.Range, records iter.Seq2[outbox.Record, error]) error {
		for r, err := range records {
			if err != nil {
				return err
			}
			archived = append(archived, string(r.Payload))
		}
		if rounds++; rounds == 1 {
			if err := late.Commit(ctx); err != nil {
				return err
			}
			readAll(t, s, 100)
		}
		return nil
	}
	m := maintenance(t, ob, cfg)
	require.Empty(t, once(t, m).Dropped, "late came after the archive")
	require.NotContains(t, archived, "late")
	require.Len(t, once(t, m).Dropped, 2)
	require.Contains(t, archived, "late")
}

// TestO2_NoDDL: without DDL, maintenance deletes in chunks by the same rules and changes no range.
func TestO2_NoDDL(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	before := layout(t, db)
	cfg := atOnce()
	cfg.NoDDL, cfg.DeleteChunk = true, 4
	var archived int
	cfg.Archive = func(_ context.Context, _ admin.Range, records iter.Seq2[outbox.Record, error]) error {
		for _, err := range records {
			if err != nil {
				return err
			}
			archived++
		}
		return nil
	}
	m := maintenance(t, ob, cfg)
	putMany(t, ob, 0, 25)
	require.Zero(t, once(t, m).Deleted, "nobody has read anything")
	s := acquire(t, ob, "")
	page, err := s.Read(t.Context(), 25)
	require.NoError(t, err)
	require.Zero(t, once(t, m).Deleted)
	require.NoError(t, s.Advance(t.Context(), page, 10))
	require.EqualValues(t, 10, once(t, m).Deleted)
	late := begin(t, ob, db).put("late", "late")
	putMany(t, ob, 25, 4)
	require.NoError(t, s.Advance(t.Context(), page, 25))
	settle(t, s)
	require.EqualValues(t, 19, once(t, m).Deleted)
	late.commit()
	require.Zero(t, once(t, m).Deleted)
	require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
	require.EqualValues(t, 1, once(t, m).Deleted)
	require.GreaterOrEqual(t, archived, 30)
	require.Equal(t, before, layout(t, db))

	cfg.Retention = time.Hour
	putMany(t, ob, 29, 3)
	settle(t, s)
	require.Zero(t, once(t, maintenance(t, ob, cfg)).Deleted, "kept for replay")
}

// TestO2_Prune: the audit and dead records are kept for the configured times.
func TestO2_Prune(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox_audit (at, action, actor) SELECT now() - i * interval '1 day', 'x', 'y' FROM generate_series(1, 20) i;
		INSERT INTO leat.outbox_dead (relay_group, seq, epoch, died_at, created_at, id, shard, topic, payload)
		SELECT 'g', i, 1, now() - i * interval '1 day', now(), gen_random_uuid(), 0, 't', '' FROM generate_series(1, 20) i`)
	report := once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{}))
	require.Zero(t, report.PrunedAudit+report.PrunedDead)
	day := 24 * time.Hour
	report = once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{KeepAudit: 5*day + time.Hour, KeepDead: 2*day + time.Hour, DeleteChunk: 3}))
	require.EqualValues(t, 15, report.PrunedAudit)
	require.EqualValues(t, 18, report.PrunedDead)
	require.Equal(t, 5, query1[int](t, db, "SELECT count(*) FROM leat.outbox_audit"))
}
