package pginbox_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// TestPruning by age, of all consumers; never of what is younger than a day in the audit.
func TestPruning(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	for _, sql := range []string{
		`INSERT INTO leat.inbox_audit (at, action, actor, reason, consumer, parked_no, topic)
			SELECT age, 'drop', 'alice', n::text, c, 1, ''`,
		`INSERT INTO leat.inbox_attempts (consumer, id, attempts, first_at, last_at)
			SELECT c, gen_random_uuid(), 1, age, age`,
		`INSERT INTO leat.inbox_notes (consumer, id, at) SELECT c, gen_random_uuid(), age`,
	} {
		_, err := env.Pool.Exec(t.Context(), sql+` FROM (SELECT n, c, now() - n * interval '1 day' - interval '1 hour' AS age
			FROM generate_series(0, 29) n, (VALUES (1), (7)) v(c)) rows`)
		require.NoError(t, err)
	}
	once := func(cfg pginbox.MaintenanceConfig) outboxadmin.MaintenanceReport {
		t.Helper()
		cfg.DeleteChunk = 10
		report, err := maintenance(t, env, cfg).RunOnce(t.Context())
		require.NoError(t, err)
		return report
	}
	first := once(pginbox.MaintenanceConfig{})
	require.Zero(t, first.PrunedAudit+first.PrunedNotes, "for ever is the default")
	require.EqualValues(t, 32, first.PrunedAttempts, "those that are older than Retention")
	for i, want := range []int64{50, 8} {
		keep := []time.Duration{5 * day, day}[i]
		report := once(pginbox.MaintenanceConfig{KeepAudit: keep, KeepNotes: keep})
		require.Equal(t, []int64{want, want}, []int64{report.PrunedAudit, report.PrunedNotes}, strconv.Itoa(i))
	}
	require.EqualValues(t, 26, once(pginbox.MaintenanceConfig{KeepAttempts: 90 * time.Minute}).PrunedAttempts)
	for _, table := range []string{"inbox_audit", "inbox_attempts", "inbox_notes"} {
		require.Equal(t, 2, rows(t, env, table), table)
	}
}
