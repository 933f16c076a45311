package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// everything returns the privileges that a role needs for everything an outbox does, except changing its
// tables.
func everything() []string {
	return []string{"ALL ON ALL TABLES IN SCHEMA leat", "ALL ON ALL SEQUENCES IN SCHEMA leat"}
}

// hide enables row level security with a policy for producers only.
func hide(table string) string {
	return "ALTER TABLE " + table + " ENABLE ROW LEVEL SECURITY; CREATE POLICY producers ON " + table + " FOR INSERT WITH CHECK (true)"
}

func requirePolicyError(t *testing.T, err error) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, pgerr.InsufficientPrivilege, refused.Code)
	require.ErrorContains(t, err, "row-level security")
}

// TestO2_RowLevelSecurityIsRefused: S1: a role to which row level security shows only some rows of a table
// relays nothing, deletes nothing and replays nothing.
func TestO2_RowLevelSecurityIsRefused(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"outbox", "outbox_p1", "outbox_positions", "outbox_leases", "outbox_groups", "outbox_held", "outbox_delayed"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			ob, db := smallRanges(t)
			putMany(t, ob, 0, 25)
			mine := outboxOfRole(t, db, everything(), "")
			src := source(t, mine, "")
			require.NoError(t, src.Check(t.Context()))
			exec(t, db, hide("leat."+table))
			err := src.Check(t.Context())
			refused(t, err, outbox.ErrRowSecurity)
			require.ErrorContains(t, err, "leat."+table)
			_, err = src.Acquire(t.Context(), testLease)
			require.Error(t, err)
			cfg := atOnce()
			cfg.NoDDL = true
			_, err = maintenance(t, mine, cfg).RunOnce(t.Context())
			require.Error(t, err)
			h, err := mine.History(pgoutbox.HistoryConfig{})
			require.NoError(t, err)
			_, err = h.Begin(t.Context(), driver.ReplayOrder{Actor: "me", Reason: "r"})
			refused(t, err, outbox.ErrRowSecurity)
			require.Equal(t, 25, stored(t, db))
			require.NoError(t, source(t, ob, "").Check(t.Context()), "its owner sees all rows")
		})
	}
}

// TestO2_RowLevelSecurityUnderARelay: S1: row level security that is switched on while a relay runs is an
// error of the next page, never an empty page, also through a pooler.
func TestO2_RowLevelSecurityUnderARelay(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		name := map[bool]string{false: "direct", true: "through a pooler"}[pooled]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			put(t, ob, "k", "1", "2", "3", "4")
			var mine *pgoutbox.Outbox
			if pooled {
				mine = elsewhere(t, testenv.PgBouncer(t, roleByDefault(t, db), testenv.PoolTransaction), pgoutbox.Config{})
			} else {
				mine = outboxOfRole(t, db, everything(), "")
			}
			s := acquire(t, mine, "")
			page := readPage(t, s, 2)
			exec(t, db, "ALTER TABLE leat.outbox ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON leat.outbox USING (seq % 2 = 0)")
			_, err := s.Read(t.Context(), 2)
			requirePolicyError(t, err)
			require.NoError(t, s.Advance(t.Context(), page, 2))
			_, err = s.Read(t.Context(), 2)
			require.Error(t, err)
			exec(t, db, "ALTER TABLE leat.outbox DISABLE ROW LEVEL SECURITY")
			require.Equal(t, []string{"3", "4"}, payloads(readAll(t, s, 2)))
			h, err := mine.History(pgoutbox.HistoryConfig{})
			require.NoError(t, err)
			p, err := h.Begin(t.Context(), driver.ReplayOrder{Actor: "me", Reason: "r"})
			require.NoError(t, err)
			exec(t, db, "ALTER TABLE leat.outbox ENABLE ROW LEVEL SECURITY")
			_, err = p.Read(t.Context(), 10)
			requirePolicyError(t, err)
			require.NoError(t, p.Close(t.Context()))
		})
	}
}

// roleByDefault makes every new connection to db one of a role with all privileges on the tables. It
// replaces db.Pool, whose connections keep their own role.
func roleByDefault(t *testing.T, db *testenv.Database) *testenv.Database {
	t.Helper()
	role := "leat_test_" + uuid.NewString()
	exec(t, db, `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`"`)
	for _, grant := range everything() {
		exec(t, db, `GRANT `+grant+` TO "`+role+`"`)
	}
	cfg := db.Pool.Config()
	cfg.ConnConfig.RuntimeParams["role"] = "none"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	before := db.Pool
	t.Cleanup(func() {
		dropRole(t, db, role)
		pool.Close()
		db.Pool = before
	})
	db.Pool = pool
	exec(t, db, `ALTER DATABASE "`+db.Name+`" SET role = "`+role+`"`)
	return db
}

// TestO2_PromotionMindsRowLevelSecurity: S1: delayed messages that a role cannot see are an error, not an
// empty result.
func TestO2_PromotionMindsRowLevelSecurity(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	enqueue(t, ob, delayedBy("k", time.Now().Add(-time.Minute), "due")[0])
	exec(t, db, hide("leat.outbox_delayed"))
	_, err := maintenance(t, outboxOfRole(t, db, everything(), ""), pgoutbox.MaintenanceConfig{NoDDL: true}).RunOnce(t.Context())
	requirePolicyError(t, err)
}

// TestO2_MissingGrantOnARange: S1: a range that maintenance may not read is an error, not an empty range.
func TestO2_MissingGrantOnARange(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, ""))
	owner, role := asRole(t, db, "owner")
	t.Cleanup(func() {
		_, err := db.Pool.Exec(context.Background(), `REASSIGN OWNED BY "`+role+`" TO CURRENT_USER`)
		require.NoError(t, err)
	})
	exec(t, db, `GRANT ALL ON ALL TABLES IN SCHEMA leat TO "`+role+`"; GRANT ALL ON ALL SEQUENCES IN SCHEMA leat TO "`+role+`"`)
	for _, table := range []string{"outbox", "outbox_p1", "outbox_p2", "outbox_tail"} {
		exec(t, db, `ALTER TABLE leat.`+table+` OWNER TO "`+role+`"`)
	}
	exec(t, db, `REVOKE SELECT ON leat.outbox_p1 FROM "`+role+`"`)
	report, err := maintenance(t, owner, atOnce()).RunOnce(t.Context())
	require.ErrorContains(t, err, "permission denied for table outbox_p1")
	require.Empty(t, report.Dropped)
	require.Equal(t, 25, stored(t, db))
}
