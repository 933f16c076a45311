package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

const (
	anew     = "its numbers begin anew"
	goneBack = "gone back behind"
)

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// truncate returns statements that empty the log and restart its counter.
func truncate(dialect outbox.Dialect) []string {
	if dialect == outbox.SQLite {
		return []string{"DELETE FROM leat_outbox", "DELETE FROM sqlite_sequence WHERE name = 'leat_outbox'"}
	}
	return []string{"TRUNCATE TABLE leat_outbox"}
}

// setBack returns a statement that restarts the counter, if the database allows that.
func setBack(dialect outbox.Dialect) string {
	if dialect == outbox.SQLite {
		return "UPDATE sqlite_sequence SET seq = 0 WHERE name = 'leat_outbox'"
	}
	return "ALTER TABLE leat_outbox AUTO_INCREMENT = 1"
}

// commitMany commits n messages, named 1 to n.
func commitMany(t *testing.T, ob *sqloutbox.Outbox, n int) (names []string) {
	t.Helper()
	for i := range n {
		names = append(names, strconv.Itoa(i+1))
		commit(t, ob, message("k", names[i]))
	}
	return names
}

// relayed returns an outbox that has sent five messages.
func relayed(t *testing.T, db *sql.DB, dialect outbox.Dialect) *sqloutbox.Outbox {
	t.Helper()
	ob := newOutbox(t, db, dialect)
	s := acquire(t, ob, sqloutbox.SourceConfig{})
	require.Len(t, commitMany(t, ob, 5), len(drain(t, s)))
	require.NoError(t, s.Release(t.Context()))
	return ob
}

func rebase(t *testing.T, ob *sqloutbox.Outbox) error {
	t.Helper()
	return ob.Rebase(t.Context(), sqloutbox.RebaseRequest{By: admin.By{Actor: "me", Reason: "it was truncated"}})
}

// requireRefused checks that no relay starts, no new group begins, nothing is deleted or replayed, and the
// status gives the reason.
func requireRefused(t *testing.T, ob *sqloutbox.Outbox, db *sql.DB, text string) {
	t.Helper()
	for _, cfg := range []sqloutbox.SourceConfig{{}, {Group: "new", Start: driver.Start{Oldest: true}}} {
		src, err := ob.Source(cfg)
		require.NoError(t, err)
		requireUnusable(t, src.Check(t.Context()), text)
		_, err = src.Acquire(t.Context(), lease)
		requireUnusable(t, err, text)
	}
	stats, err := ob.Admin().Stats(t.Context())
	require.NoError(t, err)
	require.Contains(t, stats.Groups[0].Slots[0].Problem, text)
	before := messages(t, db)
	require.Equal(t, int64(before), stats.Groups[0].Slots[0].Backlog, "the position has settled nothing")
	_, err = eager(t, ob).RunOnce(t.Context())
	require.ErrorContains(t, err, text)
	require.Equal(t, before, messages(t, db))
	h, err := ob.History(sqloutbox.HistoryConfig{})
	require.NoError(t, err)
	_, err = h.Begin(t.Context(), driver.ReplayOrder{Actor: "me", Reason: "r"})
	require.ErrorContains(t, err, text)
}

func messages(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_outbox WHERE shard >= 0").Scan(&n))
	return n
}

// TestO2_TruncatedLogIsRefused: the numbers began anew while no relay was running. They are below the
// position, or have passed it since.
func TestO2_TruncatedLogIsRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 25} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
				ob := relayed(t, db, dialect)
				_, err := eager(t, ob).RunOnce(t.Context()) // a floor of the former log
				require.NoError(t, err)
				exec(t, db, truncate(dialect)...)
				names := commitMany(t, ob, n)
				requireRefused(t, ob, db, anew)
				require.NoError(t, rebase(t, ob))
				require.Equal(t, names, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
				require.Equal(t, names, drain(t, acquire(t, ob, sqloutbox.SourceConfig{Group: "new", Start: driver.Start{Oldest: true}})))
				_, err = eager(t, ob).RunOnce(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, messages(t, db), "retention goes on")
				stats, err := ob.Admin().Stats(t.Context())
				require.NoError(t, err)
				require.Empty(t, stats.Groups[0].Slots[0].Problem)
			})
		})
	}
}

// TestO2_TruncateUnderARelay: a running relay notices it, whatever number the counter has reached, and
// writes nothing that a rebase would not correct.
func TestO2_TruncateUnderARelay(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3, 25} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
				ob := relayed(t, db, dialect)
				s := acquire(t, ob, sqloutbox.SourceConfig{})
				commit(t, ob, message("k", "on its way"))
				page, err := s.Read(t.Context(), 10)
				require.NoError(t, err)
				exec(t, db, truncate(dialect)...)
				names := commitMany(t, ob, n)
				require.NoError(t, s.Advance(t.Context(), page, 1), "it was sent")
				_, err = s.Read(t.Context(), 100)
				requireUnusable(t, err, anew)
				require.ErrorIs(t, rebase(t, ob), admin.ErrGroupActive)
				require.NoError(t, s.Release(t.Context()))
				require.NoError(t, rebase(t, ob))
				require.Equal(t, names, append([]string(nil), drain(t, acquire(t, ob, sqloutbox.SourceConfig{}))...))
			})
		})
	}
}

// TestO2_ReplacedLogIsRefused: the table belongs to another log, which has its own name.
func TestO2_ReplacedLogIsRefused(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		other := newOutbox(t, db, dialect)
		exec(t, db, "UPDATE leat_outbox SET id = 'of another outbox' WHERE seq = -1") // as a table that was copied there has it
		names := commitMany(t, other, 1)
		requireRefused(t, ob, db, anew)
		require.NoError(t, rebase(t, ob))
		require.Equal(t, append([]string{"1", "2", "3", "4", "5"}, names...), drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
	})
}

// TestO2_CounterIsNotSetBack: when everything is sent and old, the newest row is kept. So setting the
// counter back never leads to a number that was used before.
func TestO2_CounterIsNotSetBack(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		_, err := eager(t, ob).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, messages(t, db))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		exec(t, db, setBack(dialect))
		if dialect == outbox.SQLite {
			exec(t, db, "DELETE FROM sqlite_sequence")
		}
		names := commitMany(t, ob, 2)
		require.Equal(t, names, drain(t, s))
	})
}

// TestO2_NumbersThatBeganAnewAreRefused: rows and counter were reset, but the row that identifies the log
// is still there.
func TestO2_NumbersThatBeganAnewAreRefused(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		exec(t, db, "DELETE FROM leat_outbox WHERE seq > 0", setBack(dialect))
		names := commitMany(t, ob, 3)
		_, err := s.Read(t.Context(), 100)
		requireUnusable(t, err, goneBack)
		require.NoError(t, s.Release(t.Context()))
		src, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		_, err = src.Acquire(t.Context(), lease)
		requireUnusable(t, err, goneBack)
		require.NoError(t, rebase(t, ob))
		require.Equal(t, names, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
	})
}

// TestO2_NumbersGivenAgainBesideAnOpenTransaction: the row that was read last is gone, a running
// transaction has its number, and a higher number is committed. A Read must not pass that transaction.
func TestO2_NumbersGivenAgainBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		commit(t, ob, message("k", "sent"))
		require.Equal(t, []string{"sent"}, drain(t, s))
		exec(t, db, "DELETE FROM leat_outbox WHERE seq > 0", setBack(dialect))
		open(t, db, ob, message("slow", "late"))
		commit(t, ob, message("k", "early"))
		_, err := s.Read(t.Context(), 10)
		requireUnusable(t, err, "has given out numbers again")
	})
}

// TestO2_ErasedAfterItWasRead: the row that a relay has read last may be erased on a person's request. Its
// number stays taken, and the relay continues.
func TestO2_ErasedAfterItWasRead(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		commit(t, ob, message("person", "read"))
		require.Equal(t, []string{"read"}, drain(t, s))
		eraser, ok := ob.Admin().(driver.Eraser)
		require.True(t, ok)
		erased, err := eraser.Erase(t.Context(), driver.EraseRequest{Key: "person", Topic: "t", Actor: "ann", Reason: "asked for"})
		require.NoError(t, err)
		require.Len(t, erased.IDs, 1)
		commit(t, ob, message("k", "next"))
		require.Equal(t, []string{"next"}, drain(t, s))
	})
}

// TestO2_SameLogAfterUpkeep: ordinary upkeep of a log does not change the meaning of a position.
func TestO2_SameLogAfterUpkeep(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		_, err := eager(t, ob).RunOnce(t.Context())
		require.NoError(t, err)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		upkeep := []string{"VACUUM", "REINDEX", "ANALYZE"}
		if dialect != outbox.SQLite {
			upkeep = []string{
				"OPTIMIZE TABLE leat_outbox", "ALTER TABLE leat_outbox FORCE", "ALTER TABLE leat_outbox AUTO_INCREMENT = 100",
				"RENAME TABLE leat_outbox TO away", "RENAME TABLE away TO leat_outbox",
			}
		}
		exec(t, db, upkeep...)
		commit(t, ob, message("k", "f"))
		require.Equal(t, []string{"f"}, drain(t, s))
		require.NoError(t, ob.Migrate(t.Context()))
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
	})
}

// TestO2_MigrationIsTakenUp: a migration that ended before the log got its name is continued, and gives
// the log the name that its positions refer to.
func TestO2_MigrationIsTakenUp(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		exec(t, db, "DELETE FROM leat_outbox WHERE seq = -1", "DELETE FROM leat_outbox_migrations")
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), outbox.ErrNotMigrated.Error())
		require.NoError(t, ob.Migrate(t.Context()))
		commit(t, ob, message("k", "f"))
		require.Equal(t, []string{"f"}, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
	})
}

// TestO6_RebaseKeepsWhatWasSetAside: a record of the new log is not skipped because a record of the former
// log with its number was set aside.
func TestO6_RebaseKeepsWhatWasSetAside(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		park := func(s driver.Session) error {
			page, err := s.Read(t.Context(), 1)
			require.NoError(t, err)
			return s.(driver.Holder).Hold(t.Context(), page, 1, []driver.Holding{{Fate: driver.FatePark, Reason: "r", Attempts: []driver.Attempt{{}}}})
		}
		commit(t, ob, message("k", "before"))
		require.NoError(t, park(s))
		require.NoError(t, s.Release(t.Context()))
		exec(t, db, truncate(dialect)...)
		commit(t, ob, message("l", "after"))
		require.NoError(t, rebase(t, ob))

		s = acquire(t, ob, sqloutbox.SourceConfig{})
		require.ErrorContains(t, park(s), "under this number")
		require.NoError(t, s.Release(t.Context()))
		held, err := ob.Admin().Held(t.Context(), admin.HeldQuery{Group: "default"})
		require.NoError(t, err)
		require.Len(t, held, 1)
		require.Equal(t, "before", string(held[0].Payload))
		_, err = ob.Admin().Drop(t.Context(), admin.ChangeRequest{
			By: admin.By{Actor: "me", Reason: "r"}, Group: "default", Selection: admin.Selection{ID: held[0].ID},
		})
		require.NoError(t, err)
		s = acquire(t, ob, sqloutbox.SourceConfig{})
		require.NoError(t, park(s))
		entries, err := ob.Admin().Audit(t.Context(), admin.AuditQuery{Action: "rebase"})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, "me", entries[0].Actor)
	})
}

// TestRebaseNeedsAnActor: a request without an actor changes nothing.
func TestRebaseNeedsAnActor(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		require.ErrorIs(t, ob.Rebase(t.Context(), sqloutbox.RebaseRequest{}), admin.ErrInvalidRequest)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Empty(t, drain(t, s))
	})
}

// TestO9_RebaseEndsWhatIsLeft: after a rebase, a leader whose lease has ended writes nothing and returns
// no records.
func TestO9_RebaseEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		src, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		s, err := src.Acquire(t.Context(), time.Millisecond)
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Release(context.WithoutCancel(t.Context())) })
		for err = rebase(t, ob); errors.Is(err, admin.ErrGroupActive); err = rebase(t, ob) {
			require.NoError(t, t.Context().Err())
		}
		require.NoError(t, err)
		_, err = s.Read(t.Context(), 10)
		requireUnusable(t, err, anew)
		require.Error(t, s.Renew(t.Context(), lease))
		require.Len(t, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})), 5)
	})
}

// TestO2_CopyInAnotherDatabaseIsRefused: relays refuse a copy, since the original sends its messages.
// After a rebase, the copy is an ordinary outbox.
func TestO2_CopyInAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		original := sqltest.OpenMySQL(t, config, nil)
		ob := relayed(t, original, dialect)
		require.NoError(t, rebase(t, ob)) // so that the audit has a row
		commit(t, ob, message("k", "6"))
		server := map[outbox.Dialect]func(tb testing.TB) testenv.MySQLServer{outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB}[dialect]
		copied := sqltest.NewMySQLDatabase(t, server(t).URL)
		db := sqltest.OpenMySQL(t, copied, nil)
		rows, err := original.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		var tables []string
		for rows.Next() {
			tables = append(tables, "")
			require.NoError(t, rows.Scan(&tables[len(tables)-1]))
		}
		require.NoError(t, rows.Err())
		for _, table := range tables {
			exec(t, db, "CREATE TABLE "+table+" LIKE `"+config.DBName+"`."+table, "INSERT INTO "+table+" SELECT * FROM `"+config.DBName+"`."+table)
		}
		src, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		is, err := src.(driver.Placed).Place(t.Context())
		require.NoError(t, err)
		require.Equal(t, config.DBName, is.Database)
		require.NotEmpty(t, is.Host)
		if dialect == outbox.MySQL {
			require.Len(t, is.Instance, 36)
		}
		staging, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
		require.NoError(t, err)
		requireRefused(t, staging, db, "another database of the server")
		require.NoError(t, rebase(t, staging))
		reader := acquire(t, staging, sqloutbox.SourceConfig{})
		require.Len(t, drain(t, reader), 6)
		commit(t, staging, message("k", "7"))
		require.Equal(t, []string{"7"}, drain(t, reader), "the copy's numbers are not behind its rows, and neither were the audit's")
		require.Len(t, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})), 6, "the original goes on")
	})
}

// alarmed collects alarms.
type alarmed []string

func (a *alarmed) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	*a = append(*a, fmt.Sprintf("%s %t", e.Kind, e.Ended))
}

// ledAgain relays once. It returns the alarms that were raised or have ended, and the last change of the
// server.
func ledAgain(t *testing.T, ob *sqloutbox.Outbox) (alarms alarmed, change driver.ServerChange) {
	t.Helper()
	src, err := ob.Source(sqloutbox.SourceConfig{})
	require.NoError(t, err)
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	r, err := relay.New(src, sink, relay.Config{Logger: slog.New(slog.DiscardHandler), Hooks: []outbox.Hook{&alarms}})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	groups, err := ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Len(t, groups, 1)
	return alarms, groups[0].Server
}

// TestO2_AnotherServerIsTold: the position stays valid if the log is the same. For an hour each relay that
// leads raises an alarm; operators are shown the change permanently.
func TestO2_AnotherServerIsTold(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		for range 2 {
			alarms, change := ledAgain(t, ob)
			require.Empty(t, alarms)
			require.Zero(t, change)
		}
		exec(t, db, "UPDATE leat_outbox_groups SET server = 'db-1:3306 (server_id 1)'")
		for range 2 { // the next relay, too
			alarms, change := ledAgain(t, ob)
			require.Equal(t, alarmed{"server_changed false", "server_changed true"}, alarms)
			require.Equal(t, "db-1:3306 (server_id 1)", change.Before)
			require.Contains(t, change.Now, "(server_id ")
			require.Less(t, change.Age, time.Hour)
		}
		exec(t, db, "UPDATE leat_outbox_groups SET server_changed = server_changed - 3600000000")
		alarms, change := ledAgain(t, ob)
		require.Empty(t, alarms)
		require.Greater(t, change.Age, time.Hour)
	})
}
