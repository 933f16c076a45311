package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestO5_CommitBetweenTheTwoReads commits a missing message, and then another one of its key, between the
// two statements of one Read. If gaps were queried first, the second message would be read before the
// first.
func TestO5_CommitBetweenTheTwoReads(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var statements atomic.Int64
		var between func()
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if strings.HasPrefix(query, "SELECT seq, shard, id") && between != nil && statements.Add(1) == 2 {
				between()
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		first := open(t, db, ob, message("k", "first"))
		commit(t, ob, message("", "other"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"other"}, drain(t, s))

		between = func() {
			require.NoError(t, first.Commit())
			commit(t, ob, message("k", "second"))
		}
		page, err := s.Read(t.Context(), 100)
		require.NoError(t, err)
		between = nil

		require.Equal(t, int64(2), statements.Load(), "a Read is of two statements")
		require.NotContains(t, payloads(page)[:1], "second")
		require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
		require.Equal(t, []string{"first", "second"}, append(payloads(page), drain(t, s)...))
	})
}

var errInjected = errors.New("injected")

// TestO2_ReadThatFailsHasReadNothing makes the second statement of a Read fail, then the write after it:
// everything read by then is read again.
func TestO2_ReadThatFailsHasReadNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var failing atomic.Pointer[string]
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if part := failing.Load(); part != nil && strings.Contains(query, *part) {
				failing.Store(nil)
				return errInjected
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		open(t, db, ob, message("k", "open"))
		commit(t, ob, message("", "a"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a"}, drain(t, s))
		commit(t, ob, message("", "b"), message("", "c"))

		for _, part := range []string{"BETWEEN", "SET rev = ?"} {
			failing.Store(&part)
			_, err := s.Read(t.Context(), 1)
			require.ErrorIs(t, err, errInjected)
		}
		require.Equal(t, []string{"b", "c"}, drain(t, s))
	})
}

// TestO1_FailedEnqueueCannotBeCommitted: after a lock wait timeout, both servers roll back only the
// statement. The control shows what a COMMIT does then.
func TestO1_FailedEnqueueCannotBeCommitted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, map[string]string{"innodb_lock_wait_timeout": "1"})
		ob := newOutbox(t, db, dialect)
		_, err := db.ExecContext(t.Context(), "CREATE TABLE business (id INT PRIMARY KEY)")
		require.NoError(t, err)
		open(t, db, ob, message("k", "holder"))

		for id, enqueue := range []func(tx *sql.Tx) error{
			func(tx *sql.Tx) error { return ob.Enqueue(t.Context(), tx, message("k", "lost")) },
			func(tx *sql.Tx) error { return ob.Enqueue(t.Context(), tx, message("k", "lost"), message("k", "lost")) },
		} {
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO business VALUES (?)", id)
			require.NoError(t, err)
			require.ErrorContains(t, enqueue(tx), "1205")
			require.ErrorIs(t, tx.Commit(), sql.ErrTxDone)
		}
		require.ErrorIs(t, ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_ = ob.Enqueue(ctx, tx, message("k", "lost")) // as a careless caller does
			return nil
		}), sql.ErrTxDone)

		control, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = control.ExecContext(t.Context(), "INSERT INTO business VALUES (100)")
		require.NoError(t, err)
		_, err = control.ExecContext(t.Context(), "SELECT COUNT(*) FROM leat_outbox_locks FOR UPDATE")
		require.ErrorContains(t, err, "1205")
		require.NoError(t, control.Commit(), "without a rollback, the rest of the transaction is committed")

		var ids, sum int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*), SUM(id) FROM business").Scan(&ids, &sum))
		require.Equal(t, []int{1, 100}, []int{ids, sum})
	})
}

// TestO1_FullDatabaseCommitsNothing does the same on SQLite, with a full disk.
func TestO1_FullDatabaseCommitsNothing(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	ob := newOutbox(t, db, outbox.SQLite)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE business (id INT)")
	require.NoError(t, err)
	var pages int
	require.NoError(t, tx.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	_, err = tx.ExecContext(t.Context(), "PRAGMA max_page_count = 1")
	require.NoError(t, err)

	require.ErrorContains(t, ob.Enqueue(t.Context(), tx, message("k", strings.Repeat("x", 100_000))), "full")

	require.ErrorIs(t, tx.Commit(), sql.ErrTxDone)
	var tables int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'business'").Scan(&tables))
	require.Zero(t, tables)
}

// TestO2_RetentionStopsAtWhatMayCommit: a transaction has been open for longer than messages are kept. It
// commits a message with a number below those that every group has settled.
func TestO2_RetentionStopsAtWhatMayCommit(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: time.Microsecond})
		require.NoError(t, err)
		commit(t, ob, message("", "a"))
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Zero(t, report.Deleted, "no group has begun")

		late := open(t, db, ob, message("k", "late"))
		rolledBack := open(t, db, ob, message("l", "rolled back"))
		commit(t, ob, message("", "b"), message("", "c"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a", "b", "c"}, drain(t, s))
		require.NoError(t, rolledBack.Rollback())

		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Deleted, "what is below the open transaction")
		require.Equal(t, []string{"default"}, report.PinnedBy)
		require.NoError(t, late.Commit())
		require.Equal(t, []string{"late"}, drain(t, s))
		_, err = m.RunOnce(t.Context()) // closes the number that was rolled back
		require.NoError(t, err)
		require.Empty(t, drain(t, s))
		commit(t, ob, message("", "d"))
		require.Equal(t, []string{"d"}, drain(t, s))
		_, err = m.RunOnce(t.Context())
		require.NoError(t, err)

		require.Equal(t, 1, messages(t, db), "everything is old, and settled; the newest row stays")
		commit(t, ob, message("", "e"))
		newcomer := acquire(t, ob, sqloutbox.SourceConfig{Group: "new", Start: driver.Start{Oldest: true}})
		require.Equal(t, []string{"e"}, drain(t, newcomer))
		var gaps string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT gaps FROM leat_outbox_groups WHERE relay_group = 'new'").Scan(&gaps))
		require.Empty(t, gaps, "a new group begins behind what was deleted")
	})
}

// TestO2_ClosedNumberIsNeverUsed: a producer that uses a number after it was closed gets an error; its
// message is not lost silently.
func TestO2_ClosedNumberIsNeverUsed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: time.Microsecond})
		require.NoError(t, err)
		require.NoError(t, open(t, db, ob, message("", "rolled back")).Rollback())
		commit(t, ob, message("", "a"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a"}, drain(t, s))
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), report.Gaps)

		_, err = db.ExecContext(t.Context(),
			"INSERT INTO leat_outbox (seq, shard, id, topic, msg_key, type, payload, headers, created_at) VALUES (1, 0, '', '', '', '', '', '', 0)")
		require.ErrorContains(t, err, "1062")
		require.Empty(t, drain(t, s), "the row that closes it is not a message")
	})
}

// TestO9_SettingsOfThePoolAreNotTheRelays runs with settings of the pool that a relay must not inherit.
func TestO9_SettingsOfThePoolAreNotTheRelays(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		with := map[string]string{"autocommit": "0", "time_zone": "'+05:00'", "sql_mode": "''", "collation_connection": "'latin1_swedish_ci'"}
		with[map[outbox.Dialect]string{outbox.MySQL: "transaction_isolation", outbox.MariaDB: "tx_isolation"}[dialect]] = "'SERIALIZABLE'"
		db := sqltest.OpenMySQL(t, config, with)
		ob := newOutbox(t, db, dialect)
		open(t, db, ob, message("open", "of a transaction that stays open"))
		src, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		require.NoError(t, src.Check(t.Context()))
		s, err := src.Acquire(t.Context(), lease)
		require.NoError(t, err)
		for _, name := range []string{"ä", "Ä"} {
			commit(t, ob, message(name, name))
			require.Equal(t, []string{name}, drain(t, s), "no old snapshot")
		}
		_, err = src.Acquire(t.Context(), lease)
		require.ErrorIs(t, err, driver.ErrLeaseHeld)
		stats, err := ob.Admin().Stats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats.Groups, 1)
		require.NoError(t, s.Renew(t.Context(), lease))
		require.NoError(t, s.Release(t.Context()))
		again, err := src.Acquire(t.Context(), lease)
		require.NoError(t, err)
		require.Empty(t, drain(t, again), "the position was committed")
		require.NoError(t, again.Release(t.Context()))
		var created int64
		require.NoError(t, sqltest.OpenMySQL(t, config, nil).QueryRowContext(t.Context(), "SELECT MAX(created_at) FROM leat_outbox").Scan(&created))
		require.WithinDuration(t, time.Now(), time.UnixMicro(created), time.Minute, "UTC")
	})
}

// TestB11_InTxClosesASessionThatTakesNoWrites: a session to a demoted primary takes no writes. The pool
// would hand it out again, and every Enqueue would fail.
func TestB11_InTxClosesASessionThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		db.SetMaxOpenConns(1)
		ob := newOutbox(t, db, dialect)
		exec(t, db, "SET SESSION TRANSACTION READ ONLY")
		enqueue := func() error {
			return ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return ob.Enqueue(ctx, tx, message("k", "x"))
			})
		}
		require.ErrorContains(t, enqueue(), "1792")
		require.NoError(t, enqueue())
	})
}

// TestR14_PreparedPages: the condition that compares servers works in prepared statements, and does not
// change their plan, a walk of the primary key.
func TestR14_PreparedPages(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		config = config.Clone()
		config.InterpolateParams = false
		var page atomic.Value
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			if strings.HasPrefix(query, "SELECT seq, shard, id") && strings.Contains(query, "seq > ?") {
				page.Store(query)
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		long := open(t, db, ob, message("k", "first"))
		commit(t, ob, message("another", "between"))
		require.Equal(t, []string{"between"}, drain(t, s))
		require.NoError(t, long.Commit())
		require.Equal(t, []string{"first"}, drain(t, s))
		require.NoError(t, s.Release(t.Context()))

		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		explain, params := "EXPLAIN FORMAT=JSON "+page.Load().(string), []any{"", 1, 100}
		var plan string
		require.NoError(t, tx.QueryRowContext(t.Context(), explain, params...).Scan(&plan))
		require.Regexp(t, `"(key|index_name)": "PRIMARY"`, plan)
		require.Regexp(t, `"access_type": "range"|Index range scan`, plan)
	})
}
