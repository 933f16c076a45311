package pginbox_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
)

// TestAuditIsPruned by age, the oldest first, by maintenance for all consumers and by an
// inbox for its own; never what is younger than a day.
func TestAuditIsPruned(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "a", nothing) // which gives the consumer its number
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox_audit (at, action, actor, reason, consumer, parked_no, topic)
		SELECT now() - n * interval '1 day' - interval '1 hour', 'drop', 'alice', n::text, c, 1, '' FROM generate_series(0, 29) n, (VALUES (1), (7)) v(c)`)
	require.NoError(t, err)

	for age, limit := range map[time.Duration]int{day - 1: 10, -day: 10, day: 0, 2 * day: 100_001} {
		_, err = in.PruneAudit(t.Context(), age, limit)
		require.ErrorIs(t, err, admin.ErrInvalidRequest, strconv.Itoa(limit))
	}
	n, err := in.PruneAudit(t.Context(), 20*day, 3)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	entries, err := adminOf(t, env.Pool).Audit(t.Context(), admin.AuditQuery{Consumer: "c"})
	require.NoError(t, err)
	require.Len(t, entries, 27)
	require.Equal(t, 57, rows(t, env, "inbox_audit"), "another consumer's stay")

	once := func(keep time.Duration) int64 {
		t.Helper()
		report, err := maintenance(t, env, pginbox.MaintenanceConfig{KeepAudit: keep, DeleteChunk: 10}).RunOnce(t.Context())
		require.NoError(t, err)
		return report.PrunedAudit
	}
	require.Zero(t, once(0), "for ever is the default")
	require.EqualValues(t, 57-10, once(5*day))
	require.EqualValues(t, 8, once(day))
	require.Equal(t, 2, rows(t, env, "inbox_audit"))
}
