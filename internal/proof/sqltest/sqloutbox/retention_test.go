package sqloutbox_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// eager returns a Maintenance to which everything is old.
func eager(t *testing.T, ob *sqloutbox.Outbox) *sqloutbox.Maintenance {
	t.Helper()
	m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: time.Microsecond})
	require.NoError(t, err)
	return m
}

func setMaxLag(t *testing.T, ob *sqloutbox.Outbox, lag time.Duration) {
	t.Helper()
	require.NoError(t, ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{
		By: admin.By{Actor: "test", Reason: "test"}, Group: "default", MaxLag: lag,
	}))
}

// TestO2_MaxLagSparesGroupsThatKeepUp: a transaction stays open for longer than Retention and MaxLag,
// while the group settles everything that is committed.
func TestO2_MaxLagSparesGroupsThatKeepUp(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		m := eager(t, ob)
		late := open(t, db, ob, message("k", "late"))
		commit(t, ob, message("", "a"), message("", "b"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a", "b"}, drain(t, s))
		setMaxLag(t, ob, time.Microsecond)

		for _, step := range []func() error{func() error { return nil }, late.Commit} {
			require.NoError(t, step())
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Deleted)
			require.Equal(t, []string{"default"}, report.PinnedBy)
		}
		require.NoError(t, s.Release(t.Context()))
		again := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"late"}, drain(t, again))
	})
}

// TestO2_MaxLagSparesWhatWasCommittedLate: a transaction stays open for longer than Retention and MaxLag,
// and nothing is committed behind it. Its row is old from the moment it is visible.
func TestO2_MaxLagSparesWhatWasCommittedLate(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		m := eager(t, ob)
		commit(t, ob, message("", "a"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a"}, drain(t, s))
		setMaxLag(t, ob, time.Microsecond)
		for range 3 { // a mark of one round says nothing of the next row
			late := open(t, db, ob, message("k", "late"))
			require.NoError(t, late.Commit())
			_, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"late"}, drain(t, s))
		}
	})
}

// TestRetentionGoesOnAfterAGroupWasPassed: numbers of messages that a group has lost are neither closed
// one by one nor waited for.
func TestRetentionGoesOnAfterAGroupWasPassed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		m := eager(t, ob)
		commit(t, ob, message("", "a"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a"}, drain(t, s))
		commit(t, ob, message("", "lost"), message("", "newest"))
		setMaxLag(t, ob, time.Microsecond)
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Deleted, "its relay leads, and may be about to read")
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Deleted, "the newest row stays")

		commit(t, ob, message("", "b"))
		require.Equal(t, []string{"newest", "b"}, drain(t, s))
		setMaxLag(t, ob, 0)
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, admin.MaintenanceReport{Deleted: 1}, report)
	})
}

// TestRetentionLeavesAJumpOfTheCounter: retention does not start to close so many numbers that it would
// take hours.
func TestRetentionLeavesAJumpOfTheCounter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		commit(t, ob, message("", "a"))
		_, err := db.ExecContext(t.Context(), "ALTER TABLE leat_outbox AUTO_INCREMENT = 2000002")
		require.NoError(t, err)
		require.NoError(t, open(t, db, ob, message("", "rolled back")).Rollback())
		commit(t, ob, message("", "b"), message("", "c"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a", "b", "c"}, drain(t, s))
		m := eager(t, ob)
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, admin.MaintenanceReport{Deleted: 1, PinnedBy: []string{"default"}}, report)

		_, err = db.ExecContext(t.Context(), "UPDATE leat_outbox_meta SET floor = 2000002") // as the handbook has it
		require.NoError(t, err)
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, admin.MaintenanceReport{Deleted: 1}, report, "the newest row stays")
		commit(t, ob, message("", "d"))
		require.Equal(t, []string{"d"}, drain(t, s))
	})
}

// TestS17_TimesOfTheFuture: a producer sets the time of its message. A message with a time in the future
// does not keep those behind it, and is deleted once a message behind it is old.
func TestS17_TimesOfTheFuture(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		for _, name := range []string{"old", "forged", "young", "forged, too", "newest"} {
			commit(t, ob, message("", name))
		}
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		drain(t, s)
		set := func(seq int, at string) {
			exec(t, db, "UPDATE leat_outbox SET created_at = "+at+" WHERE seq = "+strconv.Itoa(seq))
		}
		for seq, at := range map[int]string{1: "created_at - 7200000000", 2: "9223372036854775807", 4: "created_at + 60000000"} {
			set(seq, at)
		}
		deletes := func(n int64, why string) {
			t.Helper()
			m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: time.Hour}) // has not seen them come
			require.NoError(t, err)
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, n, report.Deleted, why)
		}
		deletes(1, "what stands behind the forged one is young: so may that be")
		set(3, "created_at - 7200000000")
		deletes(2, "an old one stands behind the forged one")
		set(5, "9223372036854775807")
		deletes(0, "nothing shows that these are old")
		commit(t, ob, message("", "old, too"), message("", "last"))
		drain(t, s)
		set(6, "created_at - 7200000000")
		deletes(3, "both forged ones and the old one")
	})
}

// heard collects the alarms that were raised and those that have ended.
type heard struct{ raised, ended []outbox.AlarmEvent }

func (h *heard) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	if e.Ended {
		h.ended = append(h.ended, e)
		return
	}
	h.raised = append(h.raised, e)
}

// TestO2_ClockThatJumps: one round of maintenance sees a clock that is a month ahead, while a group with a
// greatest lag is seconds behind. The group loses nothing, and the alarm lasts until the clock is right.
func TestO2_ClockThatJumps(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		setMaxLag(t, ob, 24*time.Hour)
		commit(t, ob, message("", "a"), message("", "b"), message("", "c"))
		now := strconv.FormatInt(time.Now().UnixMicro(), 10)
		exec(t, db, "INSERT INTO leat_outbox_audit (at, action, actor, reason, relay_group, seq, id, topic, msg_key, details) VALUES ("+now+", 'a', '', '', 'g', 0, '', '', '', '')")
		exec(t, db, `INSERT INTO leat_outbox_held (relay_group, seq, state, next_at, key_hash, attempts, errors, reason, since, bytes, shard, id, topic, msg_key, type, payload, headers, created_at)
			VALUES ('g', 1, 3, 0, 0, 1, '', '', `+now+`, 0, 0, 'dead', 't', '', '', '', '', `+now+`)`)
		ahead := sqltest.OpenMySQL(t, config, map[string]string{"timestamp": strconv.FormatInt(time.Now().AddDate(0, 1, 0).Unix(), 10)})
		ahead.SetMaxOpenConns(1) // whose clock is set right below
		var alarms heard
		m, err := sqloutbox.NewMaintenance(newOutbox(t, ahead, dialect), sqloutbox.MaintenanceConfig{
			KeepAudit: 24 * time.Hour, KeepDead: 24 * time.Hour, Hooks: []outbox.Hook{&alarms},
		})
		require.NoError(t, err)
		report, err := m.RunOnce(t.Context())
		require.ErrorContains(t, err, "the clocks of database and process differ by")
		require.Zero(t, report.Deleted)
		require.Equal(t, []outbox.AlarmEvent{{Package: "sqloutbox", Kind: sqloutbox.AlarmClock, Detail: err.Error()}}, alarms.raised)
		require.Equal(t, alarms.raised, report.Alarms)
		var audited, dead int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM leat_outbox_audit WHERE action = 'a'), (SELECT COUNT(*) FROM leat_outbox_held WHERE state = 3)").
			Scan(&audited, &dead))
		require.Equal(t, []int{1, 1}, []int{audited, dead}, "an entry of the audit, and a dead record")
		require.Equal(t, []string{"a", "b", "c"}, drain(t, s))

		exec(t, ahead, "SET timestamp = DEFAULT")
		require.Empty(t, alarms.ended)
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Empty(t, report.Alarms)
		require.Len(t, alarms.ended, 1, "the clock is right")
		require.Len(t, alarms.raised, 1)
	})
}

// TestO2_ClockThatWasBehind: messages are enqueued while the clock is a month behind, and look old once it
// is right. A group with a greatest lag that is behind only by these messages loses none of them, and a
// message that was sent a moment ago is not deleted.
func TestO2_ClockThatWasBehind(t *testing.T) {
	t.Parallel()
	for name, retention := range map[string]time.Duration{"lag": time.Nanosecond, "retention": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
				ob := newOutbox(t, db, dialect)
				s := acquire(t, ob, sqloutbox.SourceConfig{})
				setMaxLag(t, ob, 24*time.Hour)
				commit(t, ob, message("", "a"), message("", "b"))
				require.Equal(t, []string{"a", "b"}, drain(t, s))
				require.NoError(t, s.Release(t.Context())) // nobody is about to read
				var m *sqloutbox.Maintenance
				begin := func() {
					var err error
					m, err = sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: retention})
					require.NoError(t, err)
				}
				round := func() (deleted int64) {
					t.Helper()
					report, err := m.RunOnce(t.Context())
					require.NoError(t, err)
					return report.Deleted
				}
				begin()
				round()
				commit(t, ob, message("", "c"), message("", "d"), message("", "e"))
				exec(t, db, "UPDATE leat_outbox SET created_at = created_at - 2592000000000") // that is what the clock has written
				require.LessOrEqual(t, round(), int64(2), "those that were there before")
				s = acquire(t, ob, sqloutbox.SourceConfig{})
				require.Equal(t, []string{"c", "d", "e"}, drain(t, s))
				if name == "lag" {
					return
				}
				require.Zero(t, round(), "sent a moment ago")
				begin()
				require.Positive(t, round(), "it is the age that is not believed")
			})
		})
	}
}
