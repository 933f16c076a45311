package sqloutbox_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestO2_DelayedByOthers: SQLite stores any value as the time until which a message is delayed. Text that
// is a time counts as that time. Any other value delays nothing, and the messages behind it are not held
// up.
func TestO2_DelayedByOthers(t *testing.T) {
	t.Parallel()
	db := sqltest.OpenSQLite(t, filepath.Join(t.TempDir(), "leat.db"), nil)
	ob := newOutbox(t, db, outbox.SQLite)
	require.NoError(t, ob.Migrate(t.Context()))
	now := time.Now().UTC()
	tomorrow := now.Add(24 * time.Hour).Truncate(time.Second)
	for payload, at := range map[string]any{
		"past": now.Add(-time.Hour).Format(time.RFC3339), "odd": "tomorrow", "bytes": []byte{0xff}, "fraction": 2461000.5,
		"number": now.Add(-time.Minute).UnixMicro(), "later": tomorrow.Format(time.DateTime),
	} {
		_, err := db.ExecContext(t.Context(), `INSERT INTO leat_outbox_delayed (not_before, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
			VALUES (?, 0, ?, 't', '', '', ?, '', NULL, ?)`, at, []byte(payload), []byte(payload), now.UnixMicro())
		require.NoError(t, err)
	}
	all, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{})
	require.NoError(t, err)
	require.Len(t, all, 6)
	m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: -1})
	require.NoError(t, err)
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, report.Promoted)
	got := drain(t, acquire(t, ob, sqloutbox.SourceConfig{}))
	slices.Sort(got)
	require.Equal(t, []string{"bytes", "fraction", "number", "odd", "past"}, got)
	all, err = ob.Admin().Delayed(t.Context(), admin.DelayedQuery{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, tomorrow, all[0].NotBefore)
}
