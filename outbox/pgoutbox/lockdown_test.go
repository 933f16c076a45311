package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestPrivileges_AdvisoryLocks: with EXECUTE on the advisory lock functions revoked from all other roles,
// as docs/security.md shows, leat's roles work and no other role can lock anything. S6.
func TestPrivileges_AdvisoryLocks(t *testing.T) {
	t.Parallel()
	all := func() []string {
		grants := []string{"USAGE ON SEQUENCE leat.outbox_seq_seq", "SELECT ON SEQUENCE leat.outbox_seq_seq"}
		for _, table := range []string{"", "_meta", "_migrations", "_leases", "_positions", "_groups", "_members", "_held", "_out", "_dead", "_audit", "_delayed", "_status", "_standing"} {
			grants = append(grants, "SELECT ON leat.outbox"+table, "INSERT ON leat.outbox"+table, "UPDATE ON leat.outbox"+table, "DELETE ON leat.outbox"+table)
		}
		return grants
	}
	for name, use := range map[string]func(ctx context.Context, ob *pgoutbox.Outbox) error{
		"producer": useProducer,
		"delaying": useDelay,
		"relay":    useStats,
		"maintenance": func(ctx context.Context, ob *pgoutbox.Outbox) error {
			m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{NoDDL: true})
			if err != nil {
				return err
			}
			report, err := m.RunOnce(ctx)
			if err == nil && report.Promoted != 1 {
				err = errIncomplete
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			put(t, ob, "k", "poison", "behind")
			put(t, ob, "", "alone")
			exec(t, db, "INSERT INTO leat.outbox_delayed (not_before, id, shard, topic, key, payload) VALUES (now(), gen_random_uuid(), 1, 't', 'k', '')")
			const may = "SELECT has_function_privilege($1, 'pg_advisory_lock(bigint)', 'EXECUTE')"
			mine, theirs := outboxOfRole(t, db, all(), ""), outboxOfRole(t, db, all(), "")
			role := roleOf(t, mine)
			require.True(t, query1[bool](t, db, may, role), "so it is before")
			testenv.LockDown(t, db, role)
			require.False(t, query1[bool](t, db, may, role))
			require.NoError(t, use(t.Context(), mine))
			err := useProducer(t.Context(), theirs)
			require.ErrorContains(t, err, "permission denied for function pg_advisory_xact_lock_shared")
		})
	}
}

// roleOf returns the role that ob connects as.
func roleOf(t *testing.T, ob *pgoutbox.Outbox) (role string) {
	t.Helper()
	require.NoError(t, pgoutbox.Ask(t.Context(), ob, "SELECT current_user::text").Scan(&role))
	return role
}
