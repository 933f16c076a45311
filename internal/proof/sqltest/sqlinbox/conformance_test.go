package sqlinbox_test

import (
	"database/sql"
	"testing"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/sqlinbox"
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

// runSuites runs all suites of inboxes whose handlers' transactions have an isolation level.
// The servers' default is REPEATABLE READ.
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
