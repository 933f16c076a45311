package sqloutbox_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// check returns the result of Check for an outbox on db.
func check(t *testing.T, db *sql.DB, dialect outbox.Dialect, cfg sqloutbox.Config, of sqloutbox.SourceConfig) error {
	t.Helper()
	ob, err := sqloutbox.New(db, dialect, cfg)
	require.NoError(t, err)
	src, err := ob.Source(of)
	require.NoError(t, err)
	return src.Check(t.Context())
}

func requireUnusable(t *testing.T, err error, text string) {
	t.Helper()
	require.ErrorIs(t, err, driver.ErrSourceUnusable, text)
	require.ErrorContains(t, err, text)
}

func TestCheckRefusesServersThatAreNotSetUp(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), outbox.ErrNotMigrated.Error())
		newOutbox(t, db, dialect)
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))

		other := map[outbox.Dialect]outbox.Dialect{outbox.MySQL: outbox.MariaDB, outbox.MariaDB: outbox.MySQL}[dialect]
		requireUnusable(t, check(t, db, other, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "dialect")
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{Group: "new"}), "must say where it starts")
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{MaxPayloadBytes: 256 << 20}, sqloutbox.SourceConfig{}), "max_allowed_packet")
		requireUnusable(t, check(t, sqltest.OpenMySQL(t, config, map[string]string{"auto_increment_increment": "2"}),
			dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "auto_increment_increment")
		requireUnusable(t, check(t, sqltest.OpenMySQL(t, config, map[string]string{"sql_select_limit": "2"}),
			dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "sql_select_limit = 2")
		small := sqltest.OpenMySQL(t, config, nil)
		small.SetMaxOpenConns(3)
		requireUnusable(t, check(t, small, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "SetMaxOpenConns")

		for _, c := range []struct{ spoil, mend, text string }{
			{"DELETE FROM leat_outbox_locks WHERE bucket = 17", "INSERT INTO leat_outbox_locks (bucket) VALUES (17)", "leat_outbox_locks"},
			{"ALTER TABLE leat_outbox_held ENGINE=MyISAM", "ALTER TABLE leat_outbox_held ENGINE=InnoDB", "InnoDB"},
			{"INSERT INTO leat_outbox_groups (relay_group, owner, epoch, lease_until, rev, last, gaps, topics, paused, policies, max_lag, former, created_at, began) VALUES ('default', '', 0, 0, 0, 99, '', '', '', '', 0, '', 0, 0)", "DELETE FROM leat_outbox_groups", "gone back"},
			{"DELETE FROM leat_outbox_meta", "INSERT INTO leat_outbox_meta (only_row, instance, floor, place) SELECT 1, id, 0, LOWER(DATABASE()) FROM leat_outbox WHERE seq = -1", "meta"},
		} {
			_, err := db.ExecContext(t.Context(), c.spoil)
			require.NoError(t, err)
			src := sqloutbox.SourceConfig{Start: driver.Start{Now: true}}
			ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
			require.NoError(t, err)
			err = check(t, db, dialect, sqloutbox.Config{}, src)
			if c.text == "meta" { // a new group reads it when it begins
				source, sourceErr := ob.Source(src)
				require.NoError(t, sourceErr)
				_, err = source.Acquire(t.Context(), lease)
			}
			requireUnusable(t, err, c.text)
			_, err = db.ExecContext(t.Context(), c.mend)
			require.NoError(t, err)
		}
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
	})
}

func TestCheckRefusesFilesThatAreNotSetUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leat.db")
	newOutbox(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite)
	pragmas := func(values ...string) url.Values { return url.Values{"_pragma": values} }
	for text, with := range map[string]url.Values{
		"_txlock":      {"_txlock": {"deferred"}},
		"busy_timeout": pragmas("journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(0)"),
		"synchronous":  pragmas("journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(5000)"),
		"read-only":    {"mode": {"ro"}},
	} {
		requireUnusable(t, check(t, sqltest.OpenSQLite(t, path, with), outbox.SQLite, sqloutbox.Config{}, sqloutbox.SourceConfig{}), text)
	}
	lazy := sqltest.OpenSQLite(t, path, pragmas("journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(5000)"))
	require.NoError(t, check(t, lazy, outbox.SQLite, sqloutbox.Config{AllowAsyncCommit: true}, sqloutbox.SourceConfig{}))
	require.NoError(t, check(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite, sqloutbox.Config{}, sqloutbox.SourceConfig{}))

	foreign := open(t, sqltest.OpenSQLite(t, path, nil), newOutbox(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite), message("", "of another process"))
	requireUnusable(t, check(t, sqltest.OpenSQLite(t, path, url.Values{"_txlock": {"deferred"}}), outbox.SQLite, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "_txlock")
	require.NoError(t, foreign.Rollback())

	memory := sqltest.OpenSQLite(t, "leat-"+strconv.Itoa(os.Getpid()), url.Values{"mode": {"memory"}, "cache": {"shared"}})
	keep, err := memory.Conn(t.Context()) // the database goes with its last connection
	require.NoError(t, err)
	defer func() { require.NoError(t, keep.Close()) }()
	ob, err := sqloutbox.New(memory, outbox.SQLite, sqloutbox.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, ob.Migrate(t.Context()), "journal_mode = memory")
}

func TestMigrateFromManyProcesses(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			ob, err := sqloutbox.New(sqltest.OpenMySQL(t, config, map[string]string{"autocommit": "0"}), dialect, sqloutbox.Config{})
			require.NoError(t, err)
			wg.Go(func() { errs[i] = ob.Migrate(t.Context()) })
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		ob := newOutbox(t, sqltest.OpenMySQL(t, config, nil), dialect)
		status, err := ob.SchemaStatus(t.Context())
		require.NoError(t, err)
		require.Equal(t, admin.SchemaStatus{Current: 1, Latest: 1}, status)
	})
}

// TestCheckRefusesABinaryLogOfStatements: as the control, the server refuses a write with this setting.
//
//leat:level 4
func TestCheckRefusesABinaryLogOfStatements(t *testing.T) {
	t.Parallel()
	for dialect, start := range map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			server := start(t, map[string]string{"log-bin": "binlog", "sync-binlog": "1"})
			config := sqltest.NewMySQLDatabase(t, server.URL)
			newOutbox(t, sqltest.OpenMySQL(t, config, nil), dialect)
			require.NoError(t, check(t, sqltest.OpenMySQL(t, config, nil), dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))

			db := sqltest.OpenMySQL(t, config, map[string]string{"binlog_format": "'STATEMENT'"})
			requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "binlog_format")
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			require.NoError(t, err)
			defer func() { require.NoError(t, tx.Rollback()) }()
			_, err = tx.ExecContext(t.Context(), "UPDATE leat_outbox_meta SET floor = 1")
			require.ErrorContains(t, err, "1665")
		})
	}
}

// TestO5_ServerThatLocksNothing: a server that accepts FOR UPDATE SKIP LOCKED without locking anything is
// refused because of that behaviour. A server on which this user must not lock rows is not refused.
func TestO5_ServerThatLocksNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		newOutbox(t, sqltest.OpenMySQL(t, config, nil), dialect)
		db := sqltest.OpenRewritten(t, config, func(query string) string { return strings.ReplaceAll(query, "FOR UPDATE SKIP LOCKED", "") })
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), "must pass over locked rows")
		db = sqltest.OpenRewritten(t, config, func(query string) string { return strings.ReplaceAll(query, "= -1 FOR UPDATE", "= -1 FOR NOTHING") })
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
	})
}
