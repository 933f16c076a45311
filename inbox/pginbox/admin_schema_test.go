package pginbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestAdmin_Retention: what is remembered, and what goes next.
func TestAdmin_Retention(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	a := adminOf(t, env.Pool)
	kept, err := a.Retention(t.Context())
	require.NoError(t, err)
	require.Equal(t, admin.RetainAll, kept.Mode)
	require.WithinDuration(t, time.Now(), kept.At, time.Hour)
	require.Zero(t, kept.Floor)
	require.Zero(t, kept.NextDrop)
	require.Empty(t, kept.Ranges)

	m, err := pginbox.NewMaintenance(env.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Retention: 5 * day, Width: day, Ahead: 2})
	require.NoError(t, err)
	require.NoError(t, m.Enable(t.Context()))
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Added, 3)

	kept, err = a.Retention(t.Context())
	require.NoError(t, err)
	require.Equal(t, admin.RetainRanges, kept.Mode)
	require.Equal(t, day, kept.Width)
	require.Equal(t, report.Floor, kept.Floor)
	require.InDelta(t, 5.5, kept.Kept.Hours()/24, 0.51)
	require.Len(t, kept.Ranges, 3)
	for i, r := range kept.Ranges {
		require.Equal(t, report.Added[i], r.Name)
		require.Equal(t, day, r.To.Sub(r.From))
		require.Equal(t, r.From, r.From.Truncate(day))
		if i > 0 {
			require.Equal(t, kept.Ranges[i-1].To, r.From)
		}
		require.Positive(t, r.Bytes)
	}
	require.Equal(t, kept.Ranges[0].To.Add(kept.Kept), kept.NextDrop)
}

// TestAdmin_ManyIDs: those of a few consumers are counted, more are estimated, and nobody
// waits for that.
func TestAdmin_ManyIDs(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"plain":  "gen_random_uuid()",
		"ranges": "overlay(gen_random_uuid()::text placing left('" + madeAgo(time.Minute) + "', 15) from 1 for 15)::uuid",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{})
			require.NoError(t, useIDs(t.Context(), env.Pool, "few"))
			require.NoError(t, useIDs(t.Context(), env.Pool, "many"))
			table := map[string]string{"plain": "inbox", "ranges": "inbox_ranges"}[name]
			_, err := env.Pool.Exec(t.Context(), `INSERT INTO leat.`+table+` (consumer, id)
				SELECT c.id, `+id+` FROM leat.inbox_consumers c, generate_series(1, 30000) WHERE c.name = 'many' ON CONFLICT DO NOTHING`)
			require.NoError(t, err)
			_, err = env.Pool.Exec(t.Context(), `ANALYZE leat.`+table)
			require.NoError(t, err)
			found := map[string]admin.Consumer{}
			consumers, err := adminOf(t, env.Pool).Consumers(t.Context(), admin.ConsumersQuery{})
			require.NoError(t, err)
			for _, c := range consumers {
				found[c.Name] = c
			}
			require.Equal(t, int64(2), found["few"].Remembered)
			require.False(t, found["few"].Estimated)
			require.WithinDuration(t, time.Now(), found["few"].Since, time.Hour)
			require.True(t, found["many"].Estimated)
			require.InDelta(t, 30_000, found["many"].Remembered, 10_000)
			require.WithinDuration(t, time.Now().Add(-time.Minute), found["few"].LastActivity, time.Minute, "by the time in an id")
		})
	}
}

// TestAdmin_ForgottenIDs: an id that is older than what is remembered is not said to be new.
func TestAdmin_ForgottenIDs(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	require.NoError(t, useIDs(t.Context(), env.Pool, "c"))
	remember(t, env, 2*day, false)
	a := adminOf(t, env.Pool)
	for id, want := range map[string]admin.SightingState{
		madeAgo(9 * day): admin.Forgotten, madeAgo(time.Minute): admin.NotSeen, uuid.NewString(): admin.NotSeen, "text": admin.Processed,
	} {
		seen, err := a.Lookup(t.Context(), admin.LookupQuery{ID: id})
		require.NoError(t, err)
		require.Len(t, seen, 1)
		require.Equal(t, want, seen[0].State, id)
	}
}

func TestNewAdminRefusesBadConfigs(t *testing.T) {
	t.Parallel()
	_, err := pginbox.NewAdmin(nil, pginbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = pginbox.NewAdmin(testenv.Postgres(t, template).Pool, pginbox.Config{Schema: "\n"})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
