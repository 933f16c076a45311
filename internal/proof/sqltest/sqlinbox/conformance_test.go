package sqlinbox_test

import (
	"database/sql"
	"testing"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
)

func TestConformance_MySQL(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{}, openMySQL, sql.LevelDefault)
}

func TestConformance_MariaDB(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{}, openMariaDB, sql.LevelDefault)
}

func TestConformance_SQLite(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{OneWriter: true}, openSQLite, sql.LevelDefault)
}

//leat:level 2
func TestConformance_MySQLReadCommitted(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{}, openMySQL, sql.LevelReadCommitted)
}

//leat:level 2
func TestConformance_MariaDBSerializable(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{}, openMariaDB, sql.LevelSerializable)
}

// TestR14_ReadsOutsideOfTransactions: in everything that the suites do, an inbox reads only inside
// transactions.
//
//leat:level 2
func TestR14_ReadsOutsideOfTransactions(t *testing.T) {
	t.Parallel()
	runSuites(t, inboxtest.Features{}, func(tb testing.TB, settings map[string]string) *database {
		tb.Helper()
		db := openMariaDB(tb, settings)
		config := sqltest.Watched(tb, db.config)
		db.db = pool(tb, sql.OpenDB(db.commits.Connector(sqltest.MySQLConnector(tb, config, settings))))
		return db
	}, sql.LevelDefault)
}

// TestConformance_OddSettings: session settings of the server change nothing.
//
//leat:level 2
func TestConformance_OddSettings(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for mode, with := range map[string]map[string]string{
			"lax": {
				"sql_mode": "''", "time_zone": "'+05:45'", "group_concat_max_len": "4", "sql_safe_updates": "1",
				"foreign_key_checks": "0", "auto_increment_increment": "5", "auto_increment_offset": "3",
			},
			"strict": {
				"sql_mode":             "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH,IGNORE_SPACE,TRADITIONAL,ONLY_FULL_GROUP_BY'",
				"collation_connection": "'latin1_swedish_ci'", "character_set_results": "'latin1'",
			},
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				runSuites(t, inboxtest.Features{}, func(tb testing.TB, _ map[string]string) *database {
					tb.Helper()
					return open(tb, with)
				}, sql.LevelDefault)
			})
		}
	}
}

// runSuites runs all suites of inboxes, with handlers' transactions at the given isolation level. The
// servers' default is REPEATABLE READ.
func runSuites(t *testing.T, f inboxtest.Features, open opener, level sql.IsolationLevel) {
	t.Helper()
	create := func(t *testing.T) *subject {
		t.Helper()
		return newSubject(t, open(t, nil), sqlinbox.Config{Isolation: level})
	}
	t.Run("Inbox", func(t *testing.T) {
		t.Parallel()
		inboxtest.Run(t, f, func(t *testing.T) inboxtest.Subject { return create(t) })
	})
	t.Run("Failures", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunFailures(t, f, func(t *testing.T) inboxtest.FailureSubject { return create(t) })
	})
	t.Run("Admin", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunAdmin(t, f, func(t *testing.T) inboxtest.FailureSubject { return create(t) })
	})
	t.Run("Batch", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunBatch(t, f, func(t *testing.T) inboxtest.BatchSubject { return create(t) })
	})
}
