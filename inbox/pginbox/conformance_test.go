package pginbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestInbox runs the suite on both drivers at each isolation level. The outcomes
// are the same; at the higher levels a conflict costs another delivery.
func TestInbox(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.Run(t, inboxtest.Features{}, func(t *testing.T) inboxtest.Subject { return newSubject(t) })
	})
}

// TestFailures does the same for what becomes of messages whose handler fails.
func TestFailures(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.RunFailures(t, func(t *testing.T) inboxtest.FailureSubject { return newSubject(t) })
	})
}

// onEach runs a suite on both drivers at each isolation level.
func onEach(t *testing.T, run func(t *testing.T, newSubject func(t *testing.T) *subject)) {
	t.Helper()
	type maker func(testing.TB, *testenv.Database, pginbox.Config) *subject
	for kind, newSubject := range map[string]maker{"pgx": newSubject, "sql": newSQLSubject} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				env := testenv.Postgres(t)
				run(t, func(t *testing.T) *subject {
					t.Helper()
					return newSubject(t, env, pginbox.Config{Isolation: level})
				})
			})
		}
	}
}
