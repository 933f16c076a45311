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

// configuration is a way to run an inbox. The usual one is pgx at READ COMMITTED, with cached
// statements and without forgetting. Together with it, those below pair each driver with each
// isolation level and each way to forget, and use every query mode.
type configuration struct {
	sql     bool // on database/sql, not on pgx
	level   pgx.TxIsoLevel
	forgets bool // see noDDL
	noDDL   bool
	mode    pgx.QueryExecMode
	session string // the isolation level of the session, if it is not that of the server
	pooled  bool   // through PgBouncer in transaction mode
}

// TestOnSQL: transactions are serializable unless they say otherwise.
//
//leat:level 2
func TestOnSQL(t *testing.T) {
	t.Parallel()
	configuration{sql: true, level: pgx.ReadCommitted, mode: pgx.QueryExecModeCacheDescribe, session: "serializable"}.run(t)
}

// TestOnSQL_RepeatableRead_Deletes deletes ids.
//
//leat:level 2
func TestOnSQL_RepeatableRead_Deletes(t *testing.T) {
	t.Parallel()
	configuration{sql: true, level: pgx.RepeatableRead, forgets: true, noDDL: true, mode: pgx.QueryExecModeSimpleProtocol}.run(t)
}

// TestOnSQL_Serializable_Drops drops ranges of ids.
//
//leat:level 2
func TestOnSQL_Serializable_Drops(t *testing.T) {
	t.Parallel()
	configuration{sql: true, level: pgx.Serializable, forgets: true, mode: pgx.QueryExecModeCacheStatement}.run(t)
}

// TestOnPgx_RepeatableRead_Drops drops ranges of ids.
//
//leat:level 2
func TestOnPgx_RepeatableRead_Drops(t *testing.T) {
	t.Parallel()
	configuration{level: pgx.RepeatableRead, forgets: true, mode: pgx.QueryExecModeDescribeExec, session: "repeatable read"}.run(t)
}

// TestOnPgx_Serializable_Deletes deletes ids.
//
//leat:level 2
func TestOnPgx_Serializable_Deletes(t *testing.T) {
	t.Parallel()
	configuration{level: pgx.Serializable, forgets: true, noDDL: true, mode: pgx.QueryExecModeExec}.run(t)
}

// TestOnPgx_Pooled: parameters travel as text.
//
//leat:level 2
func TestOnPgx_Pooled(t *testing.T) {
	t.Parallel()
	configuration{level: pgx.ReadCommitted, mode: pgx.QueryExecModeSimpleProtocol, pooled: true}.run(t)
}

// run runs all suites. Through a pooler it leaves those out that cut connections.
func (c configuration) run(t *testing.T) {
	t.Helper()
	env := testenv.Postgres(t)
	config := env.Pool.Config()
	if c.pooled {
		config = testenv.PgBouncer(t, env, testenv.PoolTransaction).Pool.Config()
	}
	c.tune(config)
	operator, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(operator.Close)
	operated := func(t *testing.T) *subject {
		t.Helper()
		s := c.subject(t, env)
		if c.pooled {
			s.pool = operator
		}
		s.operator = operator
		return s
	}
	t.Run("Failures", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunFailures(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject { return operated(t) })
	})
	t.Run("Admin", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunAdmin(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject { return operated(t) })
	})
	if c.pooled {
		return
	}
	t.Run("Batch", func(t *testing.T) {
		t.Parallel()
		inboxtest.RunBatch(t, inboxtest.Features{}, func(t *testing.T) inboxtest.BatchSubject { return c.subject(t, env) })
	})
	t.Run("Inbox", func(t *testing.T) {
		t.Parallel()
		if !c.forgets {
			inboxtest.Run(t, remembering(), func(t *testing.T) inboxtest.Subject { return c.subject(t, env) })
			return
		}
		inboxtest.Run(t, forgettingAll(), func(t *testing.T) inboxtest.Subject {
			t.Helper()
			return newForgetting(t, c.subject(t, testenv.Postgres(t)), c.noDDL)
		})
	})
}

func (c configuration) tune(config *pgxpool.Config) {
	config.ConnConfig.DefaultQueryExecMode = c.mode
	if c.session != "" {
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = c.session
	}
}

func (c configuration) subject(t *testing.T, env *testenv.Database) *subject {
	t.Helper()
	open := newSubject
	if c.sql {
		open = newSQLSubject
	}
	return open(t, env, pginbox.Config{Isolation: c.level}, c.tune)
}
