package pginbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

// rounds is what maintenance tells of its rounds.
type rounds struct{ all []admin.MaintenanceEvent }

func (r *rounds) OnAdminMaintenance(_ context.Context, e admin.MaintenanceEvent) {
	r.all = append(r.all, e)
}

// TestHook_Maintenance: each round is an event with its report; where another process
// works there is none.
func TestHook_Maintenance(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	heard := &rounds{}
	m := maintenance(t, env, pginbox.MaintenanceConfig{Hooks: []outbox.Hook{heard}})
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, report.Added)
	require.Len(t, heard.all, 1)
	require.Equal(t, report, heard.all[0].Report)
	require.Positive(t, heard.all[0].Took)
	require.NoError(t, heard.all[0].Err)

	_, err = env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET owner = 'another', lease_until = now() + interval '1 hour'`)
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.ErrorIs(t, err, outboxdriver.ErrLeaseHeld)
	require.Len(t, heard.all, 1)

	_, err = env.Pool.Exec(t.Context(), `DROP TABLE leat.inbox_retention`)
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.Error(t, err)
	require.Len(t, heard.all, 2, "a round that cannot begin is told, too")
	require.Equal(t, err, heard.all[1].Err)
}

// TestHook_AlarmEnds: an alarm of maintenance is told in each round in which it lasts, and
// once more when it is over.
func TestHook_AlarmEnds(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	_, err := env.Pool.Exec(t.Context(), "ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO clock_that_is_right")
	require.NoError(t, err)
	ahead := func(by string) {
		_, err := env.Pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION pg_catalog.clock_timestamp()
			RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_that_is_right() + interval '`+by+`' $$`)
		require.NoError(t, err)
	}
	ahead("10 years")
	env.Pool.Reset() // plans were made with the other function
	var heard edges
	m, err := pginbox.NewMaintenance(env.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Hooks: []outbox.Hook{&heard}})
	require.NoError(t, err)
	for n := range 2 {
		_, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Len(t, heard.all, n+1)
		require.Empty(t, heard.ended)
	}
	ahead("0")
	for range 2 {
		_, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Len(t, heard.all, 2)
		require.Len(t, heard.ended, 1)
	}
	require.Equal(t, pginbox.AlarmClock, heard.ended[0].Kind)
	require.Equal(t, heard.all[1], heard.ended[0])
}
