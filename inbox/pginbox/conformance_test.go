package pginbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
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
		inboxtest.Run(t, remembering(), func(t *testing.T) inboxtest.Subject { return newSubject(t) })
	})
}

// remembering is what a subject of newSubject has: it forgets nothing, and has more locks
// than there are ids.
func remembering() inboxtest.Features {
	return inboxtest.Features{NoForget: true, NoSharedLocks: true}
}

// TestInbox_ThatForgets runs the suite where ids are in ranges that are dropped, and where
// they are deleted.
func TestInbox_ThatForgets(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			inboxtest.Run(t, inboxtest.Features{NoSharedLocks: true}, func(t *testing.T) inboxtest.Subject {
				t.Helper()
				// A database of its own: nothing is forgotten while others have transactions in it.
				s := forgettingSubject{newSubject(t, testenv.Postgres(t), pginbox.Config{}), noDDL}
				m, err := s.maintenance(30 * day)
				require.NoError(t, err)
				require.NoError(t, m.Enable(t.Context()))
				return s
			})
		})
	}
}

// forgettingSubject is an inboxtest.Forgetter.
type forgettingSubject struct {
	*subject

	noDDL bool
}

func (s forgettingSubject) maintenance(retention time.Duration) (*pginbox.Maintenance, error) {
	return pginbox.NewMaintenance(s.env.Pool, s.cfg, pginbox.MaintenanceConfig{
		Retention: retention, Width: 30 * time.Minute, NoDDL: s.noDDL,
		DetachTimeout: 5 * time.Second, // one delivery stays open for longer
	})
}

// Forget implements inboxtest.Forgetter.
func (s forgettingSubject) Forget(ctx context.Context, age time.Duration) error {
	m, err := s.maintenance(age)
	if err != nil {
		return err
	}
	_, err = m.RunOnce(ctx)
	return err
}

// TestFailures does the same for what becomes of messages whose handler fails.
func TestFailures(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, newSubject func(t *testing.T) *subject) {
		t.Helper()
		inboxtest.RunFailures(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject { return newSubject(t) })
	})
}

// TestAdmin does the same for what operators see and do, with parameters that travel in
// each of the ways that poolers ask for.
func TestAdmin(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t)
			config := env.Pool.Config()
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			inboxtest.RunAdmin(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject {
				t.Helper()
				s := newSubject(t, env, pginbox.Config{})
				s.operator = pool
				return s
			})
		})
	}
}

// TestAdminOnSQL does so on database/sql.
func TestAdminOnSQL(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	db := env.SQL(t)
	inboxtest.RunAdmin(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject {
		t.Helper()
		return onSQL{subject: newSubject(t, env, pginbox.Config{}), db: db}
	})
}

type onSQL struct {
	*subject

	db *sql.DB
}

func (s onSQL) Admin() (admin.Inbox, error) {
	return pginbox.NewAdminSQL(s.db, s.cfg)
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
