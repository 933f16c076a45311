package sqlinbox_test

import (
	"database/sql"
	"testing"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/sqlinbox"
)

// onEach runs a suite on each database, on servers at each isolation level.
func onEach(t *testing.T, run func(t *testing.T, f inboxtest.Features, newSubject func(t *testing.T) *subject)) {
	t.Helper()
	for name, open := range servers() {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				run(t, inboxtest.Features{}, func(t *testing.T) *subject {
					t.Helper()
					return newSubject(t, open(t, nil), sqlinbox.Config{Isolation: level})
				})
			})
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		run(t, inboxtest.Features{OneWriter: true}, func(t *testing.T) *subject {
			t.Helper()
			return newSubject(t, openSQLite(t, nil), sqlinbox.Config{})
		})
	})
}

func TestInbox(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f inboxtest.Features, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.Run(t, f, func(t *testing.T) inboxtest.Subject { return newSubject(t) })
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f inboxtest.Features, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.RunFailures(t, f, func(t *testing.T) inboxtest.FailureSubject { return newSubject(t) })
	})
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f inboxtest.Features, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.RunAdmin(t, f, func(t *testing.T) inboxtest.FailureSubject { return newSubject(t) })
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, f inboxtest.Features, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.RunBatch(t, f, func(t *testing.T) inboxtest.BatchSubject { return newSubject(t) })
	})
}
