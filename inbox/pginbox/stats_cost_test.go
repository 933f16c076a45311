package pginbox_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestStatsAreBounded: figures of an inbox cost a bounded number of pages, however much is parked
// and fails, and say that they are estimates.
func TestStatsAreBounded(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	a := adminOf(t, db.Pool)
	for _, sql := range []string{
		"ALTER TABLE leat.inbox_parked SET (autovacuum_enabled = false)", "ALTER TABLE leat.inbox_attempts SET (autovacuum_enabled = false)",
		"INSERT INTO leat.inbox_consumers (name) VALUES ('shop')",
		`INSERT INTO leat.inbox_attempts (consumer, id, attempts)
		 SELECT (SELECT id FROM leat.inbox_consumers), gen_random_uuid(), 1 + i % 2 FROM generate_series(1, 40000) i`,
		`INSERT INTO leat.inbox_parked (consumer, state, next_at, first_at, last_at, message_id, topic, uuid, payload, metadata)
		 SELECT (SELECT id FROM leat.inbox_consumers), CASE i % 4 WHEN 0 THEN 'redrive' WHEN 1 THEN 'wait' ELSE 'parked' END,
			CASE i % 4 WHEN 0 THEN now() END, now(), current_timestamp, i::text::bytea, 'orders', i::text::bytea, repeat('x', 200)::bytea, '{}'
		 FROM generate_series(1, 40000) i`,
	} {
		_, err := db.Pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	for _, analysed := range []bool{false, true} {
		whole := 1.0 // what was looked at
		if analysed {
			whole = 4
			_, err := db.Pool.Exec(t.Context(), "ANALYZE leat.inbox_parked, leat.inbox_attempts")
			require.NoError(t, err)
		}
		s, err := a.Stats(t.Context())
		require.NoError(t, err)
		require.True(t, s.Estimated)
		require.False(t, s.OldestParked.IsZero())
		for i, want := range []float64{5000, 2500, 2500, 5000} {
			got := []int64{s.Parked, s.Redriving, s.Waiting, s.Failing}[i]
			require.InDelta(t, want*whole, got, 0.02*want*whole, "%+v", s)
		}
		pages := pagesOfStats(t, db)
		t.Logf("%d pages, analysed: %t", pages, analysed)
		require.LessOrEqual(t, pages, 8000)
	}
}

// pagesOfStats is what the statement touches.
func pagesOfStats(t *testing.T, db *testenv.Database) int {
	t.Helper()
	raw, err := os.ReadFile("../internal/pgview/sql/stats.sql")
	require.NoError(t, err)
	sql := regexp.MustCompile(`@\{text:(\w*)\}`).ReplaceAllString(string(raw), "'leat.inbox$1'")
	sql = regexp.MustCompile(`@\{(\w*)\}`).ReplaceAllString(sql, "leat.inbox$1")
	var explained string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeSimpleProtocol).Scan(&explained))
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(explained), &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
