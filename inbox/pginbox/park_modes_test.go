package pginbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestFailuresElsewhere runs the suite where sessions differ: through a pooler in
// transaction mode, with parameters that travel as text, and where transactions
// are serializable unless they say otherwise.
func TestFailuresElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pooled bool
		mode   pgx.QueryExecMode
		level  string
	}{
		"pooler":              {pooled: true, mode: pgx.QueryExecModeCacheDescribe, level: "read committed"},
		"pooler/text":         {pooled: true, mode: pgx.QueryExecModeSimpleProtocol, level: "read committed"},
		"serializable/exec":   {mode: pgx.QueryExecModeExec, level: "serializable"},
		"repeatable/describe": {mode: pgx.QueryExecModeDescribeExec, level: "repeatable read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t)
			config := env.Pool.Config()
			if tt.pooled {
				config = testenv.PgBouncer(t, env, testenv.PoolTransaction).Pool.Config()
			} else {
				config.ConnConfig.RuntimeParams["default_transaction_isolation"] = tt.level
			}
			config.ConnConfig.DefaultQueryExecMode = tt.mode
			config.MaxConns = 2
			inboxtest.RunFailures(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject {
				t.Helper()
				s := newSubject(t, env, pginbox.Config{})
				pool, err := pgxpool.NewWithConfig(t.Context(), config.Copy())
				require.NoError(t, err)
				t.Cleanup(pool.Close)
				s.pool = pool
				return s
			})
		})
	}
}
