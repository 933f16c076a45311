package pginbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// TestMaintenanceState tells a process that maintains from one that stands by, and a round
// that failed from one that did not.
func TestMaintenanceState(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	m := maintenance(t, env, pginbox.MaintenanceConfig{Interval: 10 * time.Millisecond})
	require.Equal(t, outboxadmin.MaintenanceState{}, m.State(), "before it runs")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	becomes := func(what string, is func(s outboxadmin.MaintenanceState) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return is(m.State()) }, time.Minute, 5*time.Millisecond, what)
	}
	run := func(sql string) {
		t.Helper()
		_, err := env.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	works := func(s outboxadmin.MaintenanceState) bool {
		return s.Running && s.Rounds.Leads && s.Rounds.LastErr == nil && !s.Rounds.LastSuccess.IsZero() && s.Rounds.LastSuccess.Equal(s.Rounds.LastRun)
	}
	becomes("it maintains", works)

	run("ALTER TABLE leat.inbox_retention ADD CONSTRAINT nobody CHECK (owner IS NULL) NOT VALID")
	becomes("its rounds fail", func(s outboxadmin.MaintenanceState) bool {
		return s.Rounds.LastErr != nil && s.Rounds.LastSuccess.Before(s.Rounds.LastRun)
	})
	run("ALTER TABLE leat.inbox_retention DROP CONSTRAINT nobody")
	becomes("they succeed again", works)

	takeOver(t, env)
	becomes("another one maintains", func(s outboxadmin.MaintenanceState) bool { return !s.Rounds.Leads && s.Running })
	last := m.State()
	require.NoError(t, last.Rounds.LastErr)
	require.Empty(t, last.Report)
	run("UPDATE leat.inbox_retention SET owner = NULL, lease_until = now() - interval '1 second'")
	becomes("it maintains again", func(s outboxadmin.MaintenanceState) bool {
		return works(s) && s.Rounds.LastSuccess.After(last.Rounds.LastSuccess)
	})
	cancel()
	require.NoError(t, <-ended)
	require.False(t, m.State().Running)
	require.NoError(t, m.State().Rounds.LastErr, "to be stopped is not a failure")
}

// takeOver takes the lease as soon as it is free, for another process.
func takeOver(t *testing.T, env *testenv.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		tag, err := env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET owner = 'another', lease_until = now() + interval '1 hour'
			WHERE owner IS NULL`)
		return err == nil && tag.RowsAffected() == 1
	}, time.Minute, time.Millisecond)
}
