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
	type maker func(testing.TB, *testenv.Database, pginbox.Config) *subject
	for kind, newSubject := range map[string]maker{"pgx": newSubject, "sql": newSQLSubject} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				env := testenv.Postgres(t)
				inboxtest.Run(t, inboxtest.Features{}, func(t *testing.T) inboxtest.Subject {
					t.Helper()
					return newSubject(t, env, pginbox.Config{Isolation: level})
				})
			})
		}
	}
}
